import { err, ok, type Result } from "../../base/result.ts";
import { type CommandOptions, describeFailure, runCommand } from "../process/command.ts";
import { parseRows, type Row } from "./nvidia-smi-csv.ts";

/** Why nvidia-smi gave no answer. `code` is stable. */
export interface NvidiaSmiProblem {
  readonly code: "missing" | "no_driver" | "version_mismatch" | "no_devices" | "no_answer" | "failed" | "unreadable";
  readonly message: string;
  readonly hint: string;
}

/** How nvidia-smi is called. */
export interface NvidiaSmi {
  /** A name on the PATH or a path. */
  readonly program: string;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** Without persistence mode the driver initialises the GPUs for each call: seconds each. */
const TIME_LIMIT_MS = 60_000;
const MAX_OUTPUT_BYTES = 8 * 1024 * 1024;

/** Names that fields had before (`nvidia-smi --help-query-gpu`: renamed with driver 535). */
const OLDER_NAMES: Readonly<Record<string, string>> = {
  "clocks_event_reasons.active": "clocks_throttle_reasons.active",
};

/** Runs nvidia-smi and gives its output. */
export async function askNvidiaSmi(
  { program, timeoutMs = TIME_LIMIT_MS, signal }: NvidiaSmi,
  args: readonly string[],
): Promise<Result<string, NvidiaSmiProblem>> {
  const argv = [program, ...args];
  const options: CommandOptions = { timeoutMs, maxBytes: MAX_OUTPUT_BYTES, ...(signal ? { signal } : {}) };
  const result = await runCommand(argv, options);
  if (result.code === 0 && !result.truncated) return ok(result.stdout);
  if (result.truncated) return err(problem("unreadable", `${program} printed more than ${MAX_OUTPUT_BYTES} bytes`));
  return err(classify(describeFailure(argv, result), `${result.stdout}\n${result.stderr}`, result));
}

/**
 * One row a GPU (`--query-gpu`) or process (`--query-compute-apps`). A field that this nvidia-smi does not know is asked
 * for by its older name, else left out: the row then lacks it. The last field may hold any text.
 */
export async function queryNvidiaSmi(
  nvidiaSmi: NvidiaSmi,
  kind: "gpu" | "compute-apps",
  fields: readonly string[],
): Promise<Result<Row[], NvidiaSmiProblem>> {
  /** Asked name by our name. */
  const asked = new Map(fields.map((field) => [field, field]));
  // Each round drops or renames one field.
  for (let round = 0; round <= 2 * fields.length; round++) {
    const answer = await askNvidiaSmi(nvidiaSmi, [
      `--query-${kind}=${[...asked.values()].join(",")}`,
      "--format=csv,noheader,nounits",
    ]);
    if (answer.ok) {
      const rows = parseRows(answer.value, [...asked.keys()]);
      return rows.ok ? rows : err(problem("unreadable", `the answer of nvidia-smi cannot be read: ${rows.error}`));
    }
    const unknown = /Field "([^"]+)" is not a valid field to query/.exec(answer.error.message)?.[1];
    const ours = [...asked].find(([, name]) => name === unknown)?.[0];
    if (ours === undefined || asked.size === 1) return answer;
    const older = OLDER_NAMES[ours];
    if (older !== undefined && older !== unknown) asked.set(ours, older);
    else asked.delete(ours);
  }
  return err(problem("unreadable", `nvidia-smi refuses the fields ${[...asked.values()].join(", ")}`));
}

function classify(
  description: string,
  output: string,
  { missing, timedOut }: { missing: boolean; timedOut: boolean },
): NvidiaSmiProblem {
  if (missing) return problem("missing", description);
  if (timedOut) return problem("no_answer", description);
  if (output.includes("Driver/library version mismatch")) return problem("version_mismatch", description);
  if (output.includes("No devices were found")) return problem("no_devices", "nvidia-smi says: No devices were found");
  if (output.includes("couldn't communicate with the NVIDIA driver") || output.includes("Driver Not Loaded"))
    return problem("no_driver", description);
  return problem("failed", description);
}

const HINTS: Readonly<Record<NvidiaSmiProblem["code"], string>> = {
  missing:
    "Install the NVIDIA driver's tools, or set NVIDIA_SMI to the program. In a container: start it with the NVIDIA runtime (--gpus all), which brings nvidia-smi along.",
  no_driver: "Load the NVIDIA kernel module (modprobe nvidia), or install the driver for the running kernel.",
  version_mismatch:
    "The loaded kernel module and the driver's libraries differ, mostly after an update: reboot the host, or unload and load the nvidia modules.",
  no_devices: "Check that the host has an NVIDIA GPU, and that the container was given one (--gpus).",
  no_answer:
    "The driver hangs or initialises for a long time: look into dmesg for NVRM and Xid lines, and switch persistence mode on (nvidia-smi -pm 1, or nvidia-persistenced).",
  failed: "Run nvidia-smi by hand as the worker's user; its message names the reason.",
  unreadable: "Run nvidia-smi by hand; this version may print another format than is known.",
};

const problem = (code: NvidiaSmiProblem["code"], message: string): NvidiaSmiProblem => ({
  code,
  message,
  hint: HINTS[code],
});

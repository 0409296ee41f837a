import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fixture } from "../helpers/fixtures.ts";

/** What a program prints and how it ends when its arguments, joined by blanks, match. The first that matches counts. */
export interface Said {
  readonly args: RegExp;
  readonly stdout?: string;
  readonly stderr?: string;
  readonly code?: number;
  /** File that is copied to the path behind `-o`. */
  readonly report?: string;
  /** Text that is written to the path behind `--log-file`. */
  readonly log?: string;
  /** It prints and does not end. */
  readonly hangs?: boolean;
}

/**
 * Writes an executable that answers as recorded, for tests of what reads the answers. It notes each call in
 * `<path>.calls`, one JSON array a line. Unknown arguments end with 99.
 * @returns its path
 */
export function writeProgram(folder: string, name: string, said: readonly Said[]): string {
  const path = join(folder, name);
  const answers = said.map(({ args, ...rest }) => ({ ...rest, args: args.source }));
  const script = `#!${process.execPath}
const { appendFileSync, copyFileSync, writeFileSync } = require("node:fs");
const args = process.argv.slice(2);
appendFileSync(__filename + ".calls", JSON.stringify(args) + "\\n");
const answer = ${JSON.stringify(answers)}.find(({ args: pattern }) => new RegExp(pattern).test(args.join(" ")));
if (answer === undefined) { console.error("unexpected: " + args.join(" ")); process.exitCode = 99; }
else {
  const behind = (option) => args[args.indexOf(option) + 1];
  if (answer.report !== undefined) copyFileSync(answer.report, behind("-o"));
  if (answer.log !== undefined) writeFileSync(behind("--log-file"), answer.log);
  process.stdout.write(answer.stdout ?? "");
  process.stderr.write(answer.stderr ?? "");
  process.exitCode = answer.code ?? 0;
  if (answer.hangs) setInterval(() => {}, 1e6);
}
`;
  writeFileSync(path, script);
  chmodSync(path, 0o755);
  return path;
}

const H200 = "GPU-00000000-0000-0000-0000-000000000001";

/** An H200 with nothing on it, driver 580.159.04: fields and values as recorded, in the order they are asked for. */
export const IDLE_H200: readonly Said[] = [
  { args: /^$/, stdout: "| NVIDIA-SMI 580.159.04   Driver Version: 580.159.04     CUDA Version: 13.0     |\n" },
  { args: /^-L$/, stdout: `GPU 0: NVIDIA H200 (UUID: ${H200})\n` },
  { args: /--query-compute-apps/, stdout: "" },
  {
    args: /--query-gpu=index,/,
    stdout: `0, ${H200}, 580.159.04, 143771, 9.0, Disabled, NVIDIA H200\n`,
  },
  {
    args: /--query-gpu=uuid,/,
    stdout: `${H200}, 0, 143771, 345, 1980, 0x0000000000000001, Enabled, Disabled\n`,
  },
];

export const H200_UUID = H200;

/** A folder that looks like /proc as far as the host is read from it. */
export function writeProc(
  folder: string,
  host: {
    readonly adminOnly?: number;
    readonly capEff?: string;
    readonly uidMap?: string;
    /** pid, parent, name */
    readonly processes?: readonly (readonly [number, number, string])[];
  },
): void {
  mkdirSync(join(folder, "self"), { recursive: true });
  writeFileSync(join(folder, "self/status"), `Name:\tnode\nCapEff:\t${host.capEff ?? "0000000000000000"}\n`);
  writeFileSync(join(folder, "self/uid_map"), `${host.uidMap ?? "         0          0 4294967295"}\n`);
  if (host.adminOnly !== undefined) {
    mkdirSync(join(folder, "driver/nvidia"), { recursive: true });
    writeFileSync(
      join(folder, "driver/nvidia/params"),
      `ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: ${host.adminOnly}\nTemporaryFilePath: ""\n`,
    );
  }
  for (const [pid, parent, name] of host.processes ?? []) {
    mkdirSync(join(folder, String(pid)), { recursive: true });
    writeFileSync(join(folder, String(pid), "stat"), `${pid} (${name}) S ${parent} 1 1 0 -1 4194560\n`);
  }
}

/** What ncu 2025.3.1 says of itself. */
export const NCU_2025_3: readonly Said[] = [
  {
    args: /^--version$/,
    stdout:
      "NVIDIA (R) Nsight Compute Command Line Profiler\nCopyright (c) 2018-2025 NVIDIA Corporation\nVersion 2025.3.1.0 (build 36398880) (public-release)\n",
  },
  { args: /^--list-sets$/, stdout: fixture("ncu/2025.3.1/list-sets.txt").toString() },
  {
    args: /^--help$/,
    stdout:
      "  --mode arg (=launch-and-attach)   \n  --replay-mode arg\n  --process-id-other\n  --communicator arg (=none)\n",
  },
];

import { join } from "node:path";
import packageJson from "../package.json" with { type: "json" };
import { openFile } from "../src/base/file-source.ts";
import { err, ok, type Result } from "../src/base/result.ts";
import { DISK_FLOOR_BYTES } from "../src/capture/capture-parts.ts";
import { type Check, type CheckReport, type Found, failed, good, skipped, warned } from "../src/capture/check/check.ts";
import { checkHost } from "../src/capture/check/check-host.ts";
import { PROBE_METRICS, type ProbeLaunch } from "../src/capture/check/probe.ts";
import { type Config, ConfigError, readConfig } from "../src/config.ts";
import { LEASE_KEYS } from "../src/leases/store.ts";
import { captureQueueName } from "../src/model/capture.ts";
import { problemSchema } from "../src/model/problem.ts";
import { connectRedis } from "../src/queue/connections.ts";
import { QUEUE_PREFIX } from "../src/queue/settings.ts";
import { readReport } from "../src/report/detect.ts";

export interface WorkerCheckOptions {
  readonly env: NodeJS.ProcessEnv;
  /** Program of the trial profile; null: a kernel of our own. */
  readonly probeProgram: readonly string[] | null;
  readonly onCheck: (check: Check) => void;
  /** `/proc` and the folder of installed tools; others in tests. */
  readonly proc?: string;
  readonly installed?: readonly string[];
}

const API_LIMIT_MS = 10_000;
const LONGEST_ANSWER = 64 * 1024;
/** A profile that does not exist: nothing can happen to it. */
const NOBODY = "00000000-0000-7000-8000-000000000000";

/** What `profile-kernel worker check` looks at: this host, and whether it reaches the service. */
export async function checkWorker(options: WorkerCheckOptions): Promise<CheckReport> {
  const { env } = options;
  const { found, config } = readSettings(env);
  // The folders that a worker uses itself: what it will do is what is tried.
  const folder = join(config.DATA_DIR, "capture");
  return checkHost({
    nodeVersion: process.version,
    settings: found,
    ncu: config.NCU,
    nsys: config.NSYS,
    nvidiaSmi: config.NVIDIA_SMI,
    workloadsFile: config.WORKLOADS_FILE ?? null,
    workFolder: folder,
    tmpDir: join(folder, "tmp"),
    homeDir: join(folder, "home"),
    diskFloorBytes: DISK_FLOOR_BYTES,
    env,
    probeProgram: options.probeProgram,
    api: () => checkApi(config.API_URL, config.API_KEY),
    redis: () => checkRedis(config.REDIS_URL, config.WORKER_POOL),
    readReport: readProbeReport,
    onCheck: options.onCheck,
    ...(options.proc === undefined ? {} : { proc: options.proc }),
    ...(options.installed === undefined ? {} : { installed: options.installed }),
  });
}

/** The settings of a worker; what is wrong is left at its default, so that the other checks can be made. */
function readSettings(env: NodeJS.ProcessEnv): { found: Found; config: Config } {
  const worker = { ...env, ROLE: "capture" };
  try {
    const config = readConfig(worker);
    return { found: good(`pool ${config.WORKER_POOL}, API ${config.API_URL}`), config };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const found = failed(error.message, "Settings come from the environment; docs/settings.md lists them.");
    return { found, config: readableSettings(env) };
  }
}

function readableSettings(env: NodeJS.ProcessEnv): Config {
  const kept: NodeJS.ProcessEnv = {};
  for (const [name, value] of Object.entries(env)) {
    if (name === "ROLE") continue;
    try {
      readConfig({ [name]: value });
      kept[name] = value;
    } catch {
      // Told by the check of the settings.
    }
  }
  return readConfig(kept);
}

/** The API answers, and takes the key for a worker's. The request names no profile and does nothing. */
async function checkApi(url: string | undefined, key: string | undefined): Promise<Found> {
  if (url === undefined) return skipped("API_URL is not set");
  const base = url.replace(/\/+$/, "");
  const ask = (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(`${base}${path}`, { redirect: "error", signal: AbortSignal.timeout(API_LIMIT_MS), ...init });
  let answer: Response;
  try {
    const ready = await ask("/readyz");
    if (ready.status !== 200 && ready.status !== 503) {
      return failed(
        `${base}/readyz was answered with ${ready.status}: this is not profile-kernel`,
        "Set API_URL to the address of the service, without a path of its routes.",
      );
    }
    await ready.body?.cancel();
    answer = await ask(`/profiles/${NOBODY}/events`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      },
      body: "{}",
    });
    if (ready.status === 503)
      return warned(`${base} answers, and says that it is not ready`, "Look at /readyz of the service.");
  } catch (error) {
    return failed(
      `${base} does not answer: ${reasonOf(error)}`,
      "Check API_URL, and that this host may reach it (firewall, DNS, TLS).",
    );
  }
  const { code, detail } = await problemOf(answer);
  // An empty body is refused only after the key was taken.
  if (code === "validation_failed") return good(`${base} takes the key for a worker's`);
  if (answer.status === 401) {
    return failed(
      `${base} refuses the key: ${detail}`,
      key === undefined
        ? "Set API_KEY to a key with the role worker."
        : "Make a new key with the role worker, and set API_KEY to it.",
    );
  }
  if (answer.status === 403) return failed(`${base}: ${detail}`, "Give the key the role worker.");
  return failed(
    `${base} answered with ${answer.status}${detail === "" ? "" : `: ${detail}`}`,
    `The service must be of this version or newer (${packageJson.version}).`,
  );
}

async function problemOf(answer: Response): Promise<{ code: string | null; detail: string }> {
  const text = (await answer.text().catch(() => "")).slice(0, LONGEST_ANSWER);
  try {
    return problemSchema.parse(JSON.parse(text));
  } catch {
    return { code: null, detail: "" };
  }
}

/** Redis answers, and shows the keys that a worker needs. */
async function checkRedis(url: string | undefined, pool: string): Promise<Found> {
  if (url === undefined) return skipped("REDIS_URL is not set");
  try {
    const redis = await connectRedis({ url }, () => {});
    try {
      await redis.producer.ping();
      const keys = [`${QUEUE_PREFIX}:${captureQueueName(pool)}:meta`, ...LEASE_KEYS.slice(0, 1)];
      for (const key of keys) await redis.producer.exists(key);
      return good(`answers, and shows ${keys.join(" and ")}`);
    } finally {
      redis.close();
    }
  } catch (error) {
    return failed(
      reasonOf(error),
      "Check REDIS_URL, and that its user may use the keys of queue and leases: docs/gpu-host.md shows the ACL.",
    );
  }
}

async function readProbeReport(path: string): Promise<Result<readonly ProbeLaunch[], string>> {
  const report = await readReport(openFile(path), {
    wantMetric: (name) => PROBE_METRICS.some((metric) => metric === name),
  });
  if (!report.ok) {
    return report.error.code === "no_kernels" ? ok([]) : err(`${report.error.message} ${report.error.hint}`);
  }
  return ok(
    report.value.launches.map(({ names, metrics }) => ({
      name: names.display,
      metrics: Object.fromEntries(PROBE_METRICS.map((metric) => [metric, metrics.number(metric)])),
    })),
  );
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause instanceof Error ? error.cause.message : "";
  return cause === "" ? error.message : `${error.message}: ${cause}`;
}

import { isIP } from "node:net";
import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import { z } from "zod";

const GIB = 1024 ** 3;

const port = z.coerce.number().int().min(0).max(65535);
const count = z.coerce.number().int().min(1);

/** `512`, `64KiB`, `2 GiB`, `1GB`: bytes. */
const bytes = z
  .string()
  .regex(/^\d+(\.\d+)?\s*([KMGT]i?B|B)?$/i, "expected bytes, such as 1073741824, 512MiB or 2GB")
  .transform((text) => {
    const [, number = "0", unit = "B"] = /^([\d.]+)\s*([a-z]*)$/i.exec(text) ?? [];
    const power = "BKMGT".indexOf(unit.charAt(0).toUpperCase() || "B");
    return Math.floor(Number(number) * (/i/i.test(unit) ? 1024 : 1000) ** power);
  })
  .pipe(z.number().int().min(1).max(Number.MAX_SAFE_INTEGER));

const url = (protocols: readonly string[]) =>
  z.string().refine((text) => URL.canParse(text) && protocols.includes(new URL(text).protocol), {
    message: `expected a URL that starts with ${protocols.map((protocol) => `${protocol}//`).join(" or ")}`,
  });

/** Every setting, read from the environment. The help text is what the documentation shows. */
export const settingsSchema = z.object({
  ROLE: z
    .enum(["all", "api", "capture", "analysis", "webhook"])
    .default("all")
    .describe(
      "what this process does: everything (all), answers HTTP (api), analyses reports (analysis), profiles on a GPU host (capture)",
    ),
  HOST: z
    .string()
    .min(1)
    .default("127.0.0.1")
    .describe("address to listen on; anything but loopback needs an API key first"),
  PORT: port.default(8080).describe("TCP port to listen on; 0: any free one, printed at the start"),
  DATA_DIR: z
    .string()
    .min(1)
    .default(".profile-kernel")
    .describe("folder of the embedded database, the embedded Redis and the uploaded reports"),
  REDIS_URL: url(["redis:", "rediss:", "unix:"])
    .optional()
    .describe("Redis 6.2 or newer; unset: a redis-server child under DATA_DIR"),
  DATABASE_URL: url(["postgres:", "postgresql:"])
    .optional()
    .describe("Postgres 13 or newer; unset: SQLite under DATA_DIR"),
  ARTIFACTS_URL: url(["file:"])
    .optional()
    .describe("where uploaded reports are kept, as file:///path; unset: DATA_DIR/artifacts"),
  API_URL: url(["http:", "https:"]).optional().describe("where a worker on a GPU host reaches the API (ROLE=capture)"),
  API_KEY: z
    .string()
    .regex(
      /^pk_[a-z0-9]{8,32}_[A-Za-z0-9_-]{22,128}$/,
      "expected pk_<id>_<secret>: 8 to 32 of a-z0-9, then 22 or more of A-Za-z0-9_-",
    )
    .optional()
    .describe(
      "a key that the API takes in at its start, with every role, until another takes its place; also what a worker sends",
    ),
  WORKER_POOL: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, "expected 1 to 64 of letters, digits, '.', '_' and '-'")
    .default("default")
    .describe("pool that a worker belongs to: hosts that can stand in for one another"),
  WORKER_ID: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/, "expected 1 to 128 of A-Za-z0-9, '.', '_' and '-'")
    .optional()
    .describe("name of a worker, kept over restarts; unset: host name and pool"),
  WORKLOADS_FILE: z
    .string()
    .min(1)
    .optional()
    .describe("workloads.yaml: what a worker may run; ROLE=all takes captures only where it is set"),
  NCU: z.string().min(1).default("ncu").describe("Nsight Compute's command line: a name on the PATH or a path"),
  NSYS: z.string().min(1).optional().describe("nsys; unset: on the PATH, or beside ncu"),
  NVIDIA_SMI: z.string().min(1).default("nvidia-smi").describe("nvidia-smi: a name on the PATH or a path"),
  NO_WORKER_TIMEOUT_S: z.coerce
    .number()
    .positive()
    .max(86_400 * 7)
    .default(600)
    .describe("how long a profile waits for a worker of its pool to come back before it fails with no_worker"),
  LOG_LEVEL: z
    .enum(["trace", "debug", "info", "warn", "error", "fatal", "silent"])
    .default("info")
    .describe("JSON lines on standard error"),
  MAX_REPORT_BYTES: bytes.default(2 * GIB).describe("largest report that is taken, as uploaded"),
  MAX_DECOMPRESSED_BYTES: bytes.default(16 * GIB).describe("largest report that is read, after decompression"),
  REPORT_QUOTA_BYTES: bytes.default(64 * GIB).describe("space for all uploaded reports together"),
  ANALYSIS_CONCURRENCY: count
    .max(64)
    .default(Math.max(1, availableParallelism() - 1))
    .describe("reports that are analysed at the same time, each in a thread of its own, timelines in a process"),
  ANALYSIS_TIMEOUT_S: z.coerce.number().positive().max(86_400).default(300).describe("time limit of one analysis"),
  ANALYSIS_MEMORY_MB: count
    .max(1_048_576)
    .default(2048)
    .describe("JavaScript heap limit of one analysis; one that reads timelines may take twice as much in all"),
  SHUTDOWN_TIMEOUT_S: z.coerce
    .number()
    .min(0)
    .max(3600)
    .default(20)
    .describe("how long running work may go on after SIGTERM"),
  SHUTDOWN_DELAY_S: z.coerce
    .number()
    .min(0)
    .max(600)
    .default(0)
    .describe("how long to go on answering after SIGTERM while /readyz says 503, so that load balancers notice"),
  RECONCILE_INTERVAL_S: z.coerce
    .number()
    .positive()
    .max(3600)
    .default(15)
    .describe("how often rows and queue are compared"),
});

type Settings = z.infer<typeof settingsSchema>;

/** The settings with what follows from them. Roles of later versions are refused by `readConfig`. */
export interface Config extends Omit<Settings, "ROLE"> {
  readonly ROLE: "all" | "api" | "analysis" | "capture";
  /** Absolute. */
  readonly DATA_DIR: string;
}

/** A setting that cannot work. The message is a sentence for the person who starts the service. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

/** True for addresses and names that only this machine reaches. */
export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[|\]$/g, "").toLowerCase();
  if (bare === "localhost" || bare === "::1" || bare === "::ffff:127.0.0.1") return true;
  return isIP(bare) === 4 && bare.startsWith("127.");
}

const withoutEmpty = (env: NodeJS.ProcessEnv): Record<string, string> =>
  Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (value === undefined || value === "" ? [] : [[name, value]])),
  );

/**
 * Reads the settings from an environment. An empty variable counts as unset.
 * @throws ConfigError naming each wrong setting, what was given and what would work. Secrets are not repeated.
 */
export function readConfig(env: NodeJS.ProcessEnv): Config {
  const given = withoutEmpty(env);
  const parsed = settingsSchema.safeParse(given);
  if (!parsed.success) {
    const sentences = parsed.error.issues.map((issue) => {
      const name = String(issue.path[0]);
      const secret = name === "API_KEY" || name.endsWith("_URL");
      return `${name}${secret ? "" : `=${given[name]}`}: ${issue.message.replace(/^Invalid option: /, "")}`;
    });
    throw new ConfigError(`Wrong setting. ${sentences.join(". ")}.`);
  }
  const settings = parsed.data;
  const { ROLE } = settings;
  if (ROLE === "webhook") {
    throw new ConfigError("ROLE=webhook is not part of this version. Use all, api, analysis or capture.");
  }
  if (ROLE === "capture") {
    const missing = (["REDIS_URL", "API_URL", "WORKLOADS_FILE"] as const).filter(
      (name) => settings[name] === undefined,
    );
    if (missing.length > 0) {
      throw new ConfigError(
        `ROLE=capture needs ${missing.join(", ")}: a worker takes its jobs from the Redis and hands its reports to the API of the service.`,
      );
    }
  } else if (ROLE !== "all" && (settings.REDIS_URL === undefined || settings.DATABASE_URL === undefined)) {
    throw new ConfigError(
      `ROLE=${ROLE} needs REDIS_URL and DATABASE_URL: the embedded Redis and database serve one process only. Set both, or use ROLE=all.`,
    );
  }
  return { ...settings, ROLE, DATA_DIR: resolve(settings.DATA_DIR) };
}

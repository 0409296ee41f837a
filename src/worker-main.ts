import packageJson from "../package.json" with { type: "json" };
import { type CaptureWorker, startCaptureWorker } from "../workers/capture.ts";
import { openCaptureApi } from "../workers/capture-api.ts";
import { openWorkerHost } from "../workers/capture-host.ts";
import { type Config, ConfigError } from "./config.ts";
import { openLeases } from "./leases/leases.ts";
import { createLogger, nowAndThen } from "./observe/logger.ts";
import { connectRedis, type RedisConnections } from "./queue/connections.ts";
import { openWakeUps } from "./queue/wake-ups.ts";

export { ConfigError, readConfig } from "./config.ts";

/** Where a worker finds its service. */
export interface WorkerService {
  readonly redis: RedisConnections;
  readonly apiUrl: string;
}

/** Starts a capture worker on connections that belong to the caller. */
export async function startWorkerOn(
  config: Config,
  { redis, apiUrl }: WorkerService,
  logger: ReturnType<typeof createLogger>,
): Promise<CaptureWorker> {
  const { WORKLOADS_FILE } = config;
  if (WORKLOADS_FILE === undefined) throw new ConfigError("A worker needs WORKLOADS_FILE: what it may run.");
  const warn = (message: string, error: unknown): void => {
    if (error instanceof Error) logger.warn({ err: error }, message);
    else logger.warn({ reason: error }, message);
  };
  const host = await openWorkerHost({ ...config, WORKLOADS_FILE }, (message) => logger.warn(message));
  const leases = await openLeases(
    redis,
    nowAndThen((error) => warn("leases", error)),
  );
  const wakeUps = await openWakeUps(redis);
  const worker = await startCaptureWorker({
    host,
    api: openCaptureApi(apiUrl, config.API_KEY, host.workerId),
    redis,
    leases,
    wakeUps,
    version: packageJson.version,
    warn,
    info: (message, fields) => logger.info(fields, message),
  });
  logger.info(
    { worker: host.workerId, pool: host.pool, gpus: host.gpus.length, ncu: host.ncu.version },
    "takes captures",
  );
  return {
    id: host.workerId,
    async close(giveUp) {
      await worker.close(giveUp);
      leases.close();
      wakeUps.close();
    },
  };
}

export interface RunningWorker {
  readonly id: string;
  /** Two stages: the running capture may finish up to SHUTDOWN_TIMEOUT_S or until `now` fires, then it is given back. */
  close(now?: AbortSignal): Promise<void>;
}

/**
 * Starts a worker of its own (ROLE=capture): no database, no HTTP port; Redis and the API are all that it reaches.
 * @throws ConfigError or RedisUnavailableError with a sentence for the person who starts it.
 */
export async function startWorker(config: Config): Promise<RunningWorker> {
  const { REDIS_URL, API_URL } = config;
  if (REDIS_URL === undefined || API_URL === undefined) throw new ConfigError("A worker needs REDIS_URL and API_URL.");
  const logger = createLogger(config);
  const redis = await connectRedis(
    { url: REDIS_URL },
    nowAndThen((error) => logger.warn({ err: error }, "lost a connection to Redis")),
  );
  try {
    const worker = await startWorkerOn(config, { redis, apiUrl: API_URL }, logger);
    const shutDown = async (now: AbortSignal | undefined): Promise<void> => {
      const limit = new AbortController();
      const timer = setTimeout(() => limit.abort(), config.SHUTDOWN_TIMEOUT_S * 1000);
      await worker.close(now === undefined ? limit.signal : AbortSignal.any([limit.signal, now]));
      clearTimeout(timer);
      redis.close();
      logger.info("stopped");
    };
    let closing: Promise<void> | null = null;
    return {
      id: worker.id,
      close(now) {
        closing ??= shutDown(now);
        return closing;
      },
    };
  } catch (error) {
    redis.close();
    throw error;
  }
}

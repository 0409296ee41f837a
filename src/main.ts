import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { FastifyInstance } from "fastify";
import { sql } from "kysely";
import packageJson from "../package.json" with { type: "json" };
import { type Health, healthRoutes } from "../routes/health.ts";
import { type LeasePorts, leaseRoutes } from "../routes/leases.ts";
import { singleProfileRoutes } from "../routes/profile.ts";
import { profileCaptureRoutes } from "../routes/profile-capture.ts";
import { profileLogRoutes } from "../routes/profile-log.ts";
import { profileReportRoutes } from "../routes/profile-report.ts";
import { profileResultRoutes } from "../routes/profile-result.ts";
import { profileTimelineRoutes } from "../routes/profile-timeline.ts";
import { profileTraceRoutes } from "../routes/profile-trace.ts";
import { profileRoutes } from "../routes/profiles.ts";
import { reportRoutes } from "../routes/reports.ts";
import { serviceRoutes } from "../routes/service.ts";
import { workerRoutes } from "../routes/workers.ts";
import { workloadRoutes } from "../routes/workloads.ts";
import { startAnalysisWorker } from "../workers/analysis.ts";
import { traceMaker } from "../workers/traces.ts";
import { type Keys, openKeys } from "./access/keys.ts";
import type { Role } from "./access/roles.ts";
import { isFullPipeline } from "./analysis/index.ts";
import { targetProblem } from "./analysis/target.ts";
import { openFileStore } from "./artifacts/file-store.ts";
import { within } from "./base/deadline.ts";
import { type Config, ConfigError, isLoopback } from "./config.ts";
import { lockDataDir } from "./db/data-dir-lock.ts";
import { type Database, openPostgres, openSqlite } from "./db/database.ts";
import { countByState } from "./db/profiles.ts";
import { registeredGpus } from "./fleet/gpus.ts";
import { createHttpApp } from "./http/app.ts";
import { openLeases } from "./leases/leases.ts";
import { createLogger, nowAndThen } from "./observe/logger.ts";
import { createMetrics, observeSources } from "./observe/metrics.ts";
import type { ProfilePorts } from "./profiles/ports.ts";
import { startReconciler } from "./profiles/reconcile.ts";
import { connectRedis, type RedisAddress, type RedisConnections } from "./queue/connections.ts";
import { startEmbeddedRedis } from "./queue/embedded-redis.ts";
import { openQueues } from "./queue/queues.ts";
import { openWakeUps } from "./queue/wake-ups.ts";
import { startWorkerOn } from "./worker-main.ts";

export { ConfigError, readConfig } from "./config.ts";

export interface RunningService {
  readonly url: string;
  /**
   * Two stages: readiness goes off, waiting requests are answered, running work may finish up to SHUTDOWN_TIMEOUT_S;
   * then analyses are given back and connections cut. Everything that was started is gone when it resolves.
   */
  close(): Promise<void>;
}

export const VERSION = packageJson.version;

/** Undone in reverse order, each once, also when the start fails half way. */
class Cleanups {
  readonly #steps: (() => unknown)[] = [];

  add(step: () => unknown): void {
    this.#steps.push(step);
  }

  async run(onError: (error: unknown) => void): Promise<void> {
    for (let step = this.#steps.pop(); step; step = this.#steps.pop()) {
      try {
        await step();
      } catch (error) {
        onError(error);
      }
    }
  }
}

/**
 * Starts the service: database, queue, workers and HTTP, as the role says.
 * @throws ConfigError or RedisUnavailableError with a sentence for the person who starts it.
 */
export async function startService(config: Config): Promise<RunningService> {
  if (config.ROLE === "capture") {
    throw new ConfigError("ROLE=capture is started by `profile-kernel worker start`: it answers no HTTP.");
  }
  const logger = createLogger(config);
  const cleanups = new Cleanups();
  const onCleanupError = (error: unknown): void => logger.error({ err: error }, "while closing");
  try {
    return await start(config, logger, cleanups, onCleanupError);
  } catch (error) {
    await cleanups.run(onCleanupError);
    throw error;
  }
}

type Logger = ReturnType<typeof createLogger>;

async function start(
  config: Config,
  logger: Logger,
  cleanups: Cleanups,
  onCleanupError: (error: unknown) => void,
): Promise<RunningService> {
  const embedded = { redis: config.REDIS_URL === undefined, database: config.DATABASE_URL === undefined };
  const isAlone = embedded.redis || embedded.database;
  const warn = (message: string, error: unknown): void => logger.warn({ err: error }, message);
  if (isAlone) cleanups.add(takeDataDir(config));

  const database =
    config.DATABASE_URL === undefined
      ? await openSqlite(config.DATA_DIR)
      : await openPostgres(
          config.DATABASE_URL,
          nowAndThen((error) => warn("lost a connection to Postgres", error)),
        );
  cleanups.add(() => database.close());
  const keys = await openAccess(config, database);
  const redis = await connectRedis(
    await redisAddress(config, logger, cleanups),
    nowAndThen((error) => warn("lost a connection to Redis", error)),
  );
  cleanups.add(() => redis.close());
  const queues = await openQueues(
    redis,
    nowAndThen((error) => warn("the queues", error)),
  );
  cleanups.add(() => queues.close());

  const ports: ProfilePorts = {
    database,
    queues,
    wakeUps: await openWakeUps(redis),
    artifacts:
      config.ARTIFACTS_URL === undefined
        ? await openFileStore(join(config.DATA_DIR, "artifacts"), isAlone)
        : await openFileStore(fileURLToPath(config.ARTIFACTS_URL), false),
    targets: { isFullPipeline, problem: targetProblem },
    limits: {
      maxReportBytes: config.MAX_REPORT_BYTES,
      reportQuotaBytes: config.REPORT_QUOTA_BYTES,
      noWorkerTimeoutMs: config.NO_WORKER_TIMEOUT_S * 1000,
    },
    incoming: { bytes: 0 },
    makeTrace: traceMaker(config),
    now: Date.now,
    warn,
  };
  const leases = await openLeases(
    redis,
    nowAndThen((error) => warn("leases", error)),
  );
  const metrics = createMetrics(VERSION);
  observeSources(metrics, {
    queueJobs: () => queues.analysis.counts(),
    profilesByState: () => countByState(database.kysely),
  });

  const reconciler = startReconciler(ports, config.RECONCILE_INTERVAL_S * 1000);
  cleanups.add(() => reconciler.close());
  // A Redis of our own that has just been started: who held a job in it is gone.
  await reconciler.run(embedded.redis);
  redis.producer.on("ready", () => void reconciler.run(false));

  const health = createHealth(database, redis);
  const app = await createHttpApp({ logger, keys, metrics, version: VERSION, isDraining: () => !health.running });
  cleanups.add(() => app.close());
  await registerRoutes(
    app,
    config.ROLE === "analysis" ? null : ports,
    { leases, knownGpus: () => registeredGpus(ports) },
    health,
    () => metrics.registry.metrics(),
  );
  const url = await app.listen({ host: config.HOST, port: config.PORT });
  const worker = config.ROLE === "api" ? null : startAnalysisWorker(ports, redis, config, metrics);
  const isGpuHost = config.ROLE === "all" && config.WORKLOADS_FILE !== undefined;
  const captures = isGpuHost ? await startWorkerOn(config, { redis, apiUrl: reachableUrl(url, config) }, logger) : null;
  logger.info({ url, role: config.ROLE, database: database.engine, embedded }, "listening");

  const shutDown = async (): Promise<void> => {
    health.running = false;
    ports.wakeUps.close();
    leases.close();
    await sleep(config.SHUTDOWN_DELAY_S * 1000);
    const giveUp = new AbortController();
    // A running capture hands in through HTTP: it ends before the server does.
    const captured = captures?.close(giveUp.signal).catch(onCleanupError);
    // A connection that becomes idle from now on is closed too; Fastify looks only once.
    const idle = setInterval(() => app.server.closeIdleConnections(), 50);
    const timer = setTimeout(() => {
      giveUp.abort();
      app.server.closeAllConnections();
    }, config.SHUTDOWN_TIMEOUT_S * 1000);
    await captured;
    await Promise.all([app.close(), worker?.close(giveUp.signal)]).catch(onCleanupError);
    clearTimeout(timer);
    clearInterval(idle);
    await cleanups.run(onCleanupError);
    logger.info("stopped");
  };
  let closing: Promise<void> | null = null;
  return {
    url,
    close() {
      closing ??= shutDown();
      return closing;
    },
  };
}

/** Where the worker in this process reaches the API: an address to listen on is not always one to call. */
const reachableUrl = (url: string, { HOST }: Config): string =>
  HOST === "0.0.0.0" || HOST === "::" ? url.replace(/\/\/[^/]*:(\d+)/, "//127.0.0.1:$1") : url;

/** The embedded parts serve one process: no other may use their folder. */
function takeDataDir({ DATA_DIR }: Config): () => void {
  const unlock = lockDataDir(DATA_DIR);
  if (unlock !== null) return unlock;
  throw new ConfigError(
    `DATA_DIR ${DATA_DIR} is in use by another profile-kernel service. Stop that one, or give this one a DATA_DIR of its own.`,
  );
}

async function openAccess({ API_KEY, HOST }: Config, database: Database): Promise<Keys> {
  const keys = openKeys(database);
  if (API_KEY !== undefined) {
    const roles: Role[] = ["admin", "worker"];
    await keys.replace(API_KEY, { name: "API_KEY", roles, raw_artifacts: true, expires_at_ms: null });
  }
  if (!isLoopback(HOST) && (await keys.isOpen())) {
    throw new ConfigError(
      `HOST=${HOST} can be reached from other machines, and there is no API key yet. Set API_KEY, or HOST=127.0.0.1.`,
    );
  }
  return keys;
}

async function redisAddress(
  { REDIS_URL, DATA_DIR }: Config,
  logger: Logger,
  cleanups: Cleanups,
): Promise<RedisAddress> {
  if (REDIS_URL !== undefined) return { url: REDIS_URL };
  const server = await startEmbeddedRedis({
    dataDir: DATA_DIR,
    onRestart: (reason) => logger.error({ reason }, "the embedded redis-server ended and is started again"),
  });
  cleanups.add(() => server.close());
  return { socketPath: server.socketPath };
}

/** The routes, one file a resource. Without `ports` only what tells of the process itself. */
export async function registerRoutes(
  app: FastifyInstance,
  ports: ProfilePorts | null,
  leases: LeasePorts,
  health: Health,
  metrics: () => Promise<string>,
): Promise<void> {
  await app.register(healthRoutes(health));
  await app.register(serviceRoutes(metrics));
  if (!ports) return;
  for (const routes of [
    reportRoutes,
    profileRoutes,
    singleProfileRoutes,
    profileResultRoutes,
    profileReportRoutes,
    profileTimelineRoutes,
    profileTraceRoutes,
    profileLogRoutes,
    profileCaptureRoutes,
    workerRoutes,
    workloadRoutes,
  ])
    await app.register(routes(ports));
  await app.register(leaseRoutes(leases));
}

const CHECK_LIMIT_MS = 2_000;

function createHealth(database: Database, redis: RedisConnections): Health & { running: boolean } {
  return {
    running: true,
    async checks() {
      const [databaseUp, queueUp] = await Promise.all([
        answers(sql`select 1`.execute(database.kysely)),
        answers(redis.producer.ping()),
      ]);
      return { database: databaseUp, queue: queueUp, running: this.running };
    },
  };
}

const answers = (question: Promise<unknown>): Promise<boolean> =>
  within(
    CHECK_LIMIT_MS,
    question.then(
      () => true,
      () => false,
    ),
    false,
  );

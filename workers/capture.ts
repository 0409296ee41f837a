import { EngineKeeper } from "../src/capture/server/warm-engine.ts";
import type { Leases } from "../src/leases/leases.ts";
import { captureQueueName } from "../src/model/capture.ts";
import { HEARTBEAT_INTERVAL_S } from "../src/model/worker.ts";
import type { RedisConnections } from "../src/queue/connections.ts";
import { startQueueWorker } from "../src/queue/queue-worker.ts";
import type { WakeUps } from "../src/queue/wake-ups.ts";
import type { CaptureApi } from "./capture-api.ts";
import type { WorkerHost } from "./capture-host.ts";
import { type CaptureJobPorts, runCaptureJob } from "./capture-job.ts";

export interface CaptureWorkerPorts {
  readonly host: WorkerHost;
  readonly api: CaptureApi;
  readonly redis: RedisConnections;
  readonly leases: Leases;
  readonly wakeUps: WakeUps;
  readonly version: string;
  /** Told what goes wrong in the background. */
  warn(message: string, error: unknown): void;
  info(message: string, fields: Readonly<Record<string, unknown>>): void;
}

export interface CaptureWorker {
  readonly id: string;
  /**
   * Takes no more jobs; the running capture goes on until it is done or `giveUp` fires, and is then given back. The warm
   * engine is ended.
   */
  close(giveUp: AbortSignal): Promise<void>;
}

/**
 * Takes the captures of a pool, one at a time, and tells the API every few seconds what this host is and does.
 * Resolves once the host is registered; what the API refuses is thrown.
 */
export async function startCaptureWorker(ports: CaptureWorkerPorts): Promise<CaptureWorker> {
  const { host, api, warn, info } = ports;
  const closing = new AbortController();
  const giveUp = new AbortController();
  const engines = new EngineKeeper((workload, reason) => info("the warm engine was ended", { workload, reason }));
  let profileId: string | null = null;
  let stopping = false;
  let beating: Promise<void> = Promise.resolve();

  const beat = async (): Promise<void> => {
    const problem = await host.refresh();
    if (problem !== null) warn("workloads.yaml is not taken as it is now; what was read before holds", problem);
    await api.register(host.registration(ports.version, profileId, stopping));
  };
  await beat();
  const tell = (): void => {
    beating = beating.then(beat).catch((error) => warn("the heartbeat did not reach the API", error));
  };
  const timer = setInterval(tell, HEARTBEAT_INTERVAL_S * 1000);

  const jobs: CaptureJobPorts = {
    ...ports,
    engines,
    closing: closing.signal,
    giveUp: giveUp.signal,
    onBegin(id) {
      profileId = id;
      tell();
    },
  };
  const worker = startQueueWorker(
    ports.redis,
    captureQueueName(host.pool),
    1,
    (data) => runCaptureJob(jobs, data),
    (error) => warn(`queue ${captureQueueName(host.pool)}`, error),
  );
  return {
    id: host.workerId,
    async close(signal) {
      stopping = true;
      tell();
      closing.abort();
      const abort = (): void => giveUp.abort("worker_stopping");
      if (signal.aborted) abort();
      else signal.addEventListener("abort", abort, { once: true });
      await worker.close();
      await engines.stop("the worker stops");
      clearInterval(timer);
      await beating;
    },
  };
}

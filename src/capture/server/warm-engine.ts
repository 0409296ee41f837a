import { rm } from "node:fs/promises";
import type { Engine, EngineStart } from "./engine.ts";
import type { WarmUpEvidence } from "./warm-up.ts";

/** The right to GPUs as a capture needs it; handed in. */
export interface HeldLease {
  readonly id: string;
  readonly token: number;
  readonly gpus: readonly string[];
  /** Seconds that it was waited for. */
  readonly waitedS: number;
  readonly lost: AbortSignal;
  /** Fires when somebody waits for it while it is preemptible. */
  readonly wanted: AbortSignal;
  /** Rejects where it has ended, or should stop being preemptible and somebody waits. */
  setPreemptible(on: boolean): Promise<void>;
  release(): Promise<void>;
}

export interface WarmEngine {
  readonly engine: Engine;
  readonly start: EngineStart;
  readonly lease: HeldLease;
  /** What was started: another declaration is another engine. */
  readonly key: string;
  readonly warmUp: WarmUpEvidence;
  /** Shapes of load that it has seen. */
  readonly shapes: Set<string>;
}

/** For the engine's shutdown where its lease is lost: others may have its GPUs a few seconds later. */
const LEASE_LOST_GRACE_MS = 1_000;

/**
 * The one engine that a worker keeps warm between profiles. It belongs to the worker: its lease can be ended by any other
 * request while nobody uses it, and an idle limit, the worker's shutdown and (by the guardian) the worker's death end it.
 */
export class EngineKeeper {
  #idle: WarmEngine | null = null;
  #timer: NodeJS.Timeout | undefined;
  #unwatch: () => void = () => {};
  /** Ends one after the other: an engine is gone before its GPUs are given back. */
  #ending: Promise<void> = Promise.resolve();
  /** Leases of engines that are kept or being ended. */
  readonly #held = new Set<HeldLease>();
  readonly #onEnded: (workload: string, reason: string) => void;

  constructor(onEnded: (workload: string, reason: string) => void) {
    this.#onEnded = onEnded;
  }

  /** The engine, in use from now on; null where there is none of this kind on GPUs that may be used, or it could not be taken. */
  async take(key: string, mayUse: (gpu: string) => boolean): Promise<WarmEngine | null> {
    const idle = this.#idle;
    if (idle === null || idle.key !== key || idle.engine.over || !idle.lease.gpus.every(mayUse)) return null;
    this.#forget();
    try {
      await idle.lease.setPreemptible(false);
      this.#held.delete(idle.lease);
      return idle;
    } catch (error) {
      await this.end(idle, error instanceof Error ? error.message : String(error));
      return null;
    }
  }

  /** Puts an engine back that is warm and not in use. */
  async keep(warm: WarmEngine): Promise<void> {
    this.#held.add(warm.lease);
    await this.stop("another engine took its place");
    if (warm.engine.over || warm.lease.lost.aborted) return this.end(warm, "it ended");
    this.#idle = warm;
    const { lease, engine } = warm;
    const end = (reason: string) => () => {
      if (this.#idle !== warm) return;
      this.#forget();
      void this.end(warm, reason);
    };
    const onLost = end("its lease was lost");
    const onWanted = end("somebody else wants its GPUs");
    lease.lost.addEventListener("abort", onLost, { once: true });
    lease.wanted.addEventListener("abort", onWanted, { once: true });
    void engine.group.ended.then(end("it ended by itself"));
    this.#timer = setTimeout(end(`nobody used it for ${engine.workload.idle_s} s`), engine.workload.idle_s * 1000);
    this.#unwatch = () => {
      lease.lost.removeEventListener("abort", onLost);
      lease.wanted.removeEventListener("abort", onWanted);
    };
    // Not awaited before the watchers stand: whoever waits is told as soon as it is preemptible.
    await lease.setPreemptible(true).catch(() => {});
    if (lease.wanted.aborted) onWanted();
    else if (lease.lost.aborted) onLost();
  }

  /** True from `keep` or `end` on until the engine is gone: the keeper gives its GPUs back then, and nobody before. */
  holds(lease: HeldLease): boolean {
    return this.#held.has(lease);
  }

  /** Ends the idle engine, if there is one; resolves when it is gone and its GPUs are given back. */
  async stop(reason: string): Promise<void> {
    const idle = this.#idle;
    this.#forget();
    if (idle) void this.end(idle, reason);
    await this.#ending;
  }

  /** Ends an engine with all its processes, then gives its GPUs back. */
  async end({ engine, lease }: WarmEngine, reason: string): Promise<void> {
    const ending = (async () => {
      this.#held.add(lease);
      const hurry = (): void => void engine.stop(LEASE_LOST_GRACE_MS);
      lease.lost.addEventListener("abort", hurry, { once: true });
      await engine.stop(lease.lost.aborted ? LEASE_LOST_GRACE_MS : undefined);
      lease.lost.removeEventListener("abort", hurry);
      await lease.release();
      this.#held.delete(lease);
      await rm(engine.folder, { recursive: true, force: true }).catch(() => {});
      this.#onEnded(engine.workload.name, reason);
    })();
    this.#ending = Promise.allSettled([this.#ending, ending]).then(() => {});
    await ending;
  }

  #forget(): void {
    clearTimeout(this.#timer);
    this.#unwatch();
    this.#unwatch = () => {};
    this.#idle = null;
  }
}

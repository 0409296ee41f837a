import { describe, expect, it } from "vitest";
import type { GroupEnd } from "../../src/capture/process/group.ts";
import type { Engine } from "../../src/capture/server/engine.ts";
import { EngineKeeper, type HeldLease, type WarmEngine } from "../../src/capture/server/warm-engine.ts";
import { temporaryFolder } from "../helpers/databases.ts";
import { serverWorkload } from "../helpers/stand-in-engine.ts";
import { until } from "../helpers/until.ts";

const GONE: GroupEnd = { code: 0, signal: null, outputBytes: 0, outputTruncated: false, startError: null };

interface Stub {
  readonly warm: WarmEngine;
  /** What was done to it, in order. */
  readonly done: string[];
  readonly lost: AbortController;
  readonly wanted: AbortController;
  /** It ends by itself. */
  die(): void;
}

/** A warm engine that is only its promises. `refuses`: the lease cannot be made exclusive again. */
function stub(key: string, { idle_s = 60, refuses = false } = {}): Stub {
  const done: string[] = [];
  const lost = new AbortController();
  const wanted = new AbortController();
  let over = false;
  let end = (): void => {};
  const ended = new Promise<GroupEnd>((resolve) => {
    end = () => {
      over = true;
      resolve(GONE);
    };
  });
  const lease: HeldLease = {
    id: key,
    token: 1,
    gpus: ["GPU-1"],
    waitedS: 0,
    lost: lost.signal,
    wanted: wanted.signal,
    async setPreemptible(on) {
      done.push(on ? "preemptible" : "exclusive");
      if (!on && refuses) throw new Error("somebody waits");
    },
    async release() {
      done.push("released");
    },
  };
  const engine = {
    workload: serverWorkload({ name: key, idle_s }),
    folder: temporaryFolder(),
    get over() {
      return over;
    },
    group: { ended },
    async stop() {
      done.push("stopped");
      end();
    },
  } as unknown as Engine;
  const warm = { engine, start: {}, lease, key, warmUp: {}, shapes: new Set() } as unknown as WarmEngine;
  return { warm, done, lost, wanted, die: () => end() };
}

function keeper(): { engines: EngineKeeper; told: string[] } {
  const told: string[] = [];
  return { engines: new EngineKeeper((workload, reason) => told.push(`${workload}: ${reason}`)), told };
}

describe("the engine that a worker keeps warm", () => {
  it("is given to a profile of the same kind, exclusively, and put back", async () => {
    const { engines } = keeper();
    const { warm, done } = stub("a");
    await engines.keep(warm);
    expect(engines.holds(warm.lease)).toBe(true);
    expect(await engines.take("b", () => true)).toBeNull();
    expect(await engines.take("a", (gpu) => gpu === "GPU-of-another-host")).toBeNull();
    expect(await engines.take("a", () => true)).toBe(warm);
    expect(engines.holds(warm.lease)).toBe(false);
    expect(await engines.take("a", () => true)).toBeNull();
    await engines.keep(warm);
    expect(done).toEqual(["preemptible", "exclusive", "preemptible"]);
    await engines.stop("the test ends");
  });

  it("is ended before its GPUs are given back, once, and its place can be taken", async () => {
    const { engines, told } = keeper();
    const [first, second] = [stub("a"), stub("b")];
    await engines.keep(first.warm);
    await engines.keep(second.warm);
    expect(first.done).toEqual(["preemptible", "stopped", "released"]);
    await engines.stop("the worker stops");
    await engines.stop("the worker stops");
    expect(second.done).toEqual(["preemptible", "stopped", "released"]);
    expect(told).toEqual(["a: another engine took its place", "b: the worker stops"]);
    expect(engines.holds(second.warm.lease)).toBe(false);
  });

  for (const [what, reason, happen] of [
    ["somebody wants its GPUs", "somebody else wants its GPUs", ({ wanted }: Stub) => wanted.abort()],
    ["its lease is lost", "its lease was lost", ({ lost }: Stub) => lost.abort()],
    ["it ends by itself", "it ended by itself", ({ die }: Stub) => die()],
  ] as const) {
    it(`is ended when ${what}, while it is idle only`, async () => {
      const { engines, told } = keeper();
      const used = stub("a");
      await engines.keep(used.warm);
      await engines.take("a", () => true);
      happen(used);
      expect(used.done).toEqual(["preemptible", "exclusive"]);

      const idle = stub("b");
      await engines.keep(idle.warm);
      happen(idle);
      await until(() => told.length === 1, 5_000);
      expect(told).toEqual([`b: ${reason}`]);
      expect(idle.done.slice(-2)).toEqual(["stopped", "released"]);
      expect(await engines.take("b", () => true)).toBeNull();
    });
  }

  it("is ended after its idle limit", async () => {
    const { engines, told } = keeper();
    const { warm } = stub("a", { idle_s: 0.01 });
    await engines.keep(warm);
    await until(() => told.length === 1, 5_000);
    expect(told).toEqual(["a: nobody used it for 0.01 s"]);
  });

  it("is ended where it cannot be had exclusively again", async () => {
    const { engines, told } = keeper();
    const { warm, done } = stub("a", { refuses: true });
    await engines.keep(warm);
    expect(await engines.take("a", () => true)).toBeNull();
    expect(done).toEqual(["preemptible", "exclusive", "stopped", "released"]);
    expect(told).toEqual(["a: somebody waits"]);
  });

  it("is not kept where it is over already", async () => {
    const { engines, told } = keeper();
    const { warm, die } = stub("a");
    die();
    await engines.keep(warm);
    expect(await engines.take("a", () => true)).toBeNull();
    expect(told).toEqual(["a: it ended"]);
  });
});

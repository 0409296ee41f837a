import { describe, expect, it } from "vitest";
import type { Engine } from "../../src/capture/server/engine.ts";
import { EngineKeeper, type HeldLease, type WarmEngine } from "../../src/capture/server/warm-engine.ts";
import { temporaryFolder } from "../helpers/databases.ts";
import { serverWorkload } from "../helpers/stand-in-engine.ts";
import { until } from "../helpers/until.ts";

/** An engine that takes its time to stop: until `gone` is called. `done`: what was done to it and its lease, in order. */
function slowEngine({ wantedAtOnce = false } = {}) {
  const done: string[] = [];
  const lost = new AbortController();
  const wanted = new AbortController();
  let gone = (): void => {};
  const ended = new Promise<void>((resolve) => {
    gone = resolve;
  });
  const lease: HeldLease = {
    id: "a",
    token: 1,
    gpus: ["GPU-1"],
    waitedS: 0,
    lost: lost.signal,
    wanted: wanted.signal,
    async setPreemptible(on) {
      if (on && wantedAtOnce) wanted.abort();
    },
    async release() {
      done.push("released");
    },
  };
  const engine = {
    workload: serverWorkload({ name: "a", stop: { timeout_s: 30 } }),
    folder: temporaryFolder(),
    over: false,
    group: { ended: new Promise(() => {}) },
    async stop(graceMs?: number) {
      done.push(`stop ${graceMs ?? "as the workload says"}`);
      await ended;
    },
  } as unknown as Engine;
  const warm = { engine, start: {}, lease, key: "a", warmUp: {}, shapes: new Set() } as unknown as WarmEngine;
  return { warm, lease, done, lost, wanted, gone: () => gone() };
}

describe("the lease of a warm engine", () => {
  it("is given back by nobody while the engine ends, also where it was wanted when it was put back", async () => {
    const engines = new EngineKeeper(() => {});
    const { warm, lease, done, gone } = slowEngine({ wantedAtOnce: true });
    await engines.keep(warm);
    expect(done).toEqual(["stop as the workload says"]);
    // A capture that has just put its engine back asks this before it releases the lease.
    expect(engines.holds(lease)).toBe(true);
    gone();
    await until(() => !engines.holds(lease));
    expect(done).toEqual(["stop as the workload says", "released"]);
  });

  it("leaves the engine a second where it is lost, before or while it ends", async () => {
    const engines = new EngineKeeper(() => {});
    const before = slowEngine();
    before.lost.abort();
    const ending = engines.keep(before.warm);
    await until(() => before.done.length > 0);
    expect(before.done).toEqual(["stop 1000"]);
    before.gone();
    await ending;

    const meanwhile = slowEngine();
    await engines.keep(meanwhile.warm);
    meanwhile.wanted.abort();
    await until(() => meanwhile.done.length > 0);
    meanwhile.lost.abort();
    expect(meanwhile.done).toEqual(["stop as the workload says", "stop 1000"]);
    meanwhile.gone();
    await engines.stop("the test ends");
  });
});

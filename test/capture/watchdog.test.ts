import { describe, expect, it } from "vitest";
import type { NcuEvent } from "../../src/capture/ncu/output.ts";
import { Watchdog } from "../../src/capture/ncu/watchdog.ts";

const LIMITS = { startMs: 100, stallMs: 50, hangMs: 10, idleMs: null, totalMs: 1000 };
const CONNECTED: NcuEvent = { kind: "connected", pid: 1, path: null };
const GONE: NcuEvent = { kind: "disconnected", pid: 1 };
const STARTED: NcuEvent = { kind: "launch_started", name: "k", index: null, done: null, total: null };
const FINISHED: NcuEvent = { kind: "launch_finished", name: "k", passes: 1, complete: true };
const HANG: NcuEvent = { kind: "line", code: "hang", text: "" };

describe("the watchdog", () => {
  it("waits for the first CUDA call up to its limit", () => {
    const dog = new Watchdog(LIMITS, "run");
    dog.alive(90);
    expect([dog.expired(100), dog.expired(101)]).toEqual([null, "start_limit"]);
    dog.saw(CONNECTED, 101);
    expect(dog.expired(900)).toBeNull();
    expect(new Watchdog(LIMITS, "launch").expired(900)).toBeNull();
  });

  it("bounds a launch without a sign of life: a byte of ncu, or growth of the report", () => {
    const dog = new Watchdog(LIMITS, "run");
    dog.saw(CONNECTED, 0);
    dog.saw(STARTED, 10);
    expect([dog.expired(60), dog.expired(61)]).toEqual([null, "stall"]);
    dog.alive(60);
    expect(dog.expired(110)).toBeNull();
    expect(dog.reportSize(5, 110)).toBe(true);
    expect(dog.reportSize(5, 150)).toBe(false);
    expect([dog.expired(160), dog.expired(161)]).toEqual([null, "stall"]);
    dog.saw(FINISHED, 161);
    expect(dog.expired(999)).toBeNull();
  });

  it("is shorter once ncu says that it hangs, for that launch only", () => {
    const dog = new Watchdog(LIMITS, "run");
    dog.saw(STARTED, 0);
    dog.saw(HANG, 5);
    expect([dog.expired(15), dog.expired(16)]).toEqual([null, "stall"]);
    dog.saw(FINISHED, 16);
    dog.saw(STARTED, 20);
    expect(dog.expired(40)).toBeNull();
  });

  it("bounds the time from the end of all processes to that of ncu", () => {
    const dog = new Watchdog(LIMITS, "run");
    dog.saw(CONNECTED, 0);
    dog.saw(CONNECTED, 0);
    dog.saw(GONE, 10);
    expect(dog.expired(500)).toBeNull();
    dog.saw(GONE, 500);
    expect(dog.expired(551)).toBe("stall");
  });

  it("bounds the quiet between launches where asked to, and the whole run", () => {
    const dog = new Watchdog({ ...LIMITS, idleMs: 200 }, "attach");
    dog.saw(CONNECTED, 0);
    expect([dog.expired(200), dog.expired(201), dog.expired(1001)]).toEqual([null, "stall", "time_limit"]);
  });
});

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type NcuEvent, NcuOutput } from "../../src/capture/ncu/output.ts";
import { samplesDir } from "../helpers/fixtures.ts";
import { LOGS, log, observe } from "./ncu-logs.ts";

const events = (text: string, chunk = text.length): NcuEvent[] => {
  const seen: NcuEvent[] = [];
  const output = new NcuOutput((event) => seen.push(event));
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += chunk) output.push(bytes.subarray(at, at + chunk));
  output.end();
  return seen;
};
const finished = (text: string, chunk?: number) =>
  events(text, chunk).filter((event) => event.kind === "launch_finished");

describe("what ncu prints", () => {
  it.each(LOGS)("%s means the same in pieces of any size", (name) => {
    const whole = observe(log(name));
    for (const size of [1, 7, 64]) expect(observe(log(name), size)).toEqual(whole);
  });

  it.each([
    // log, started, finished, abandoned, report
    ["full", 19, 19, 0],
    ["multiproc", 12, 12, 0],
    ["fromstart", 12, 12, 0],
    ["server_sigterm_to_wrapper", 30, 30, 0],
    ["graphs", 6, 6, 0],
    ["tiny-full", 12, 12, 0],
    ["tiny-fault", 9, 9, 0],
    ["tiny-disk-full", 12, 12, 0],
    ["tiny-term", 6, 5, 1],
    ["tiny-int", 6, 5, 1],
    ["tiny-collective-hang", 9, 8, 1],
    ["tiny-per-launch-config", 4, 4, 0],
    ["tiny-kernel-id", 1, 1, 0],
    ["err_illegal", 2, 2, 0],
    ["err_nokernel", 0, 0, 0],
    ["warm-tiny-attach0", 2, 2, 0],
    ["warm-tiny-attach-mid", 3, 3, 0],
    ["warm-engine-attach0", 3, 3, 0],
    ["warm-mp-attach0", 4, 4, 0],
    ["hand-written/mid-line", 3, 3, 0],
    ["hand-written/received-signal", 3, 2, 1],
    ["hand-written/memory-backup", 1, 1, 0],
    ["hand-written/mig-clocks", 1, 0, 1],
  ] as const)("%s: %i launches begin, %i finish, %i are given up", (name, started, done, abandoned) => {
    const seen = observe(log(name));
    expect([seen.launchesStarted, seen.launchesFinished, seen.launchesAbandoned]).toEqual([started, done, abandoned]);
    expect(seen.openLaunch).toBeNull();
  });

  it.each([
    ["tiny-killed", "fma_chain(float *, int)", 5],
    ["warm-tiny-attach-kill", "stream_add", 2],
    ["warm-engine-attach-kill", "nvjet_sm90_tst_64x8_64x16_2x4_h_bz_TNT", 2],
  ])("%s just stops in a launch of %s", (name, kernel, done) => {
    expect(observe(log(name))).toMatchObject({ openLaunch: kernel, launchesFinished: done, report: null });
  });

  it("reads counts, indices and passes of each shape of the progress line", () => {
    const started = (line: string) => events(line).find((event) => event.kind === "launch_started");
    expect(started('==PROF== Profiling "nodeByPoint5": 0%....50%....100% - 43 passes\n')).toEqual({
      kind: "launch_started",
      name: "nodeByPoint5",
      index: null,
      done: null,
      total: null,
    });
    expect(started('==PROF== Profiling "Kernel2" - 5 (6/12): 0%....50%....100% - 10 passes\n')).toMatchObject({
      name: "Kernel2",
      index: 5,
      done: 6,
      total: 12,
    });
    const mangled = `1:7:_ZN${"7cutlass".repeat(500)}E:12`;
    expect(started(`==PROF== Profiling "${mangled}": 0%....50%....100% - 28 passes\n`)).toMatchObject({
      name: mangled,
    });
    expect(finished('==PROF== Profiling "1:13:fma_chain:2": 0%....50%....100% - 1 pass\n')).toEqual([
      { kind: "launch_finished", name: "1:13:fma_chain:2", passes: 1, complete: true },
    ]);
    expect(observe(log("fromstart"))).toMatchObject({ done: 12, total: 12, passes: 10 });
  });

  it("tells of a launch before its line is complete", () => {
    const seen: string[] = [];
    const output = new NcuOutput((event) => seen.push(event.kind));
    output.push(Buffer.from('==PROF== Profiling "a"'));
    expect(seen).toEqual([]);
    output.push(Buffer.from(": 0%"));
    expect(seen).toEqual(["launch_started", "progress"]);
    output.push(Buffer.from("....50%"));
    output.push(Buffer.from("....100% - 38 pass"));
    expect(seen).toEqual(["launch_started", "progress", "progress", "progress", "launch_finished"]);
    output.push(Buffer.from("es\n"));
    expect(seen).toHaveLength(5);
  });

  it.each([
    [
      "program output within the progress",
      '==PROF== Profiling "k" - 1: 0%../a.cu:111: failed.\n..50%....100% - 1 pass\n',
      1,
      true,
    ],
    [
      "a warning within the progress",
      '==PROF== Profiling "k": 0%\n==WARNING== Backing up device memory\n....50%....100% - 33 passes\n',
      33,
      true,
    ],
    [
      "a signal",
      '==PROF== Profiling "k" - 20: 0%..==PROF== Received signal\n==PROF== Trying to shutdown target application\n - 3 passes\n',
      3,
      false,
    ],
    [
      "SIGTERM",
      '==PROF== Profiling "k" - 5: 0%....50%...==PROF== Trying to shutdown target application\n - 35 passes\n',
      35,
      false,
    ],
    [
      "the shutdown of an attachment",
      '==PROF== Profiling "k": ==PROF== Trying to shutdown target application\n0%....50%....100% - 38 passes\n',
      38,
      true,
    ],
    [
      "a bar of the program with 100 %",
      '==PROF== Profiling "k": 0%..100%|####| 3/3\nit took - 3 passes\n - 2 passes\n',
      2,
      false,
    ],
    [
      "the program between 100 % and the count",
      '==PROF== Profiling "k": 0%....50%....100%done\n - 38 passes\n',
      38,
      true,
    ],
    ["carriage returns", '==PROF== Profiling "k": 0%....50%....100% - 38 passes\r\n', 38, true],
  ] as const)("finds the end of a launch behind %s", (_, text, passes, complete) => {
    for (const chunk of [1, 3, text.length]) {
      expect(finished(text, chunk)).toEqual([{ kind: "launch_finished", name: "k", passes, complete }]);
    }
  });

  it("reads connections, attachments, reports and kernels", () => {
    expect(observe(log("multiproc"))).toMatchObject({
      connections: 2,
      disconnections: 2,
      connected: [
        { pid: 4232, path: "/usr/bin/python3.12" },
        { pid: 4233, path: "/usr/bin/python3.12" },
      ],
      report: "out/multiproc.ncu-rep",
    });
    expect(observe(log("warm-engine-attach0")).attached).toEqual({
      pid: 2223,
      port: 49152,
      path: "/usr/bin/python3.12",
    });
    expect(observe(log("warm-launch-engine")).waitingForAttach).toBe(true);
    expect(observe(log("err_nokernel"))).toMatchObject({
      noKernels: true,
      availableKernels: ["distribution_elementwise_grid_stride_kernel", "vectorized_elementwise_kernel"],
    });
    expect(observe(log("warm-tiny-release")).availableKernels).toEqual([
      "fma_chain",
      "pointer_walk",
      "smem_tile",
      "stream_add",
    ]);
    expect(observe(log("tiny-fail")).applicationCode).toBe(3);
    expect(events("|  0==PROF== Disconnected from process 13332\n | x\n")[0]).toEqual({
      kind: "disconnected",
      pid: 13332,
    });
  });

  it("tells being ended from outside from ending after an error", () => {
    for (const name of ["tiny-term", "tiny-int", "hand-written/received-signal"]) {
      expect(observe(log(name)).endedFromOutside).toBe(true);
    }
    for (const name of [
      "tiny-fault",
      "err_illegal",
      "hand-written/lock-file",
      "hand-written/counters-in-use",
      "tiny-full",
    ]) {
      expect(observe(log(name)).endedFromOutside).toBe(false);
    }
  });

  it("keeps the first and last lines of each kind as evidence, cut", () => {
    const { lines } = observe(log("tiny-disk-full"));
    expect(lines.get("save_failed")).toMatchObject({ count: 12 });
    expect(lines.get("save_failed")?.lines).toHaveLength(5);
    const long = observe(Buffer.from(`==ERROR== ${"x".repeat(9000)}\n`)).lines.get("other_error");
    expect(long?.lines[0]).toHaveLength(500);
  });

  it("does not grow with a program that prints no line ends, and still finds ncu's words", () => {
    const output = new NcuOutput();
    const dots = Buffer.from(".".repeat(65_536));
    for (let at = 0; at < 200; at++) output.push(dots, "program");
    output.push(Buffer.from('==PROF== Profiling "k": 0%....50%....100% - 38 passes\n==PROF== Report: r\n'), "program");
    expect(output.observation).toMatchObject({ launchesFinished: 1, report: "r" });
  });

  it("bounds what it keeps of many processes and kernels", () => {
    const text = Array.from({ length: 500 }, (_, n) => `==PROF== Connected to process ${n} (p)\n`).join("");
    const kernels = `Available Kernels:\n${Array.from({ length: 500 }, (_, n) => `${n + 1}. k${n}\n`).join("")}`;
    const seen = observe(Buffer.from(text + kernels));
    expect([seen.connections, seen.connected.length, seen.availableKernels.length]).toEqual([500, 64, 200]);
  });

  it("takes any bytes in any pieces", () => {
    const words = fc.constantFrom(
      '==PROF== Profiling "k"',
      " - 1",
      ": ",
      "0%",
      "....",
      "100%",
      " - 3 passes",
      "==ERROR== ",
      "\n",
      "\r",
      "é",
      "x",
      "Available Kernels:\n",
      "1. a\n",
    );
    fc.assert(
      fc.property(fc.array(words, { maxLength: 60 }), fc.integer({ min: 1, max: 9 }), (parts, chunk) => {
        const bytes = Buffer.from(parts.join(""));
        const whole = observe(bytes);
        expect(observe(bytes, chunk)).toEqual(whole);
        const open = whole.openLaunch === null ? 0 : 1;
        expect(whole.launchesStarted).toBe(whole.launchesFinished + whole.launchesAbandoned + open);
      }),
      { seed: 7, numRuns: 500 },
    );
  });
});

const samples = samplesDir();
describe.skipIf(samples === null)("public samples", () => {
  const folder = join(samples ?? "", "text");
  const read = (name: string) => observe(readFileSync(join(folder, `${name}.txt`)));

  it("mean the same in pieces of any size", () => {
    for (const name of readdirSync(folder)) {
      const bytes = readFileSync(join(folder, name));
      expect(observe(bytes, 13)).toEqual(observe(bytes));
    }
  });

  it("give the launches that are in them", () => {
    expect(read("log_bwd29_app_error1_report_written")).toMatchObject({ applicationCode: 1, launchesAbandoned: 0 });
    expect(read("log_bwd29_backup_sysmem_unmodified_clocks")).toMatchObject({ launchesFinished: 1, passes: 33 });
    expect(read("log_killed_midprofile_v100")).toMatchObject({
      launchesFinished: 3,
      launchesAbandoned: 1,
      endedFromOutside: true,
    });
    expect(read("log_mig_clock_lock_fail")).toMatchObject({
      launchesAbandoned: 1,
      lastKernel: "v1,cw51cXTLSUwv1sCUt9Ww1FEw0N...",
    });
    const midline = read("log_jakeflasher_prof_midline");
    expect(midline.launchesFinished).toBe(midline.launchesStarted);
    expect(midline.disconnections).toBeGreaterThan(0);
  });

  it.each([
    ["log_lockfile_fail", "lock_file"],
    ["log_mig_clock_lock_fail", "clock_lock"],
    ["log_driver_resource_unavailable_dcgm", "resource_unavailable"],
    ["log_no_sections_and_unsupported_cc12", "gpu_unsupported"],
    ["log_no_sections_and_unsupported_cc12", "no_metrics"],
    ["log_killed_midprofile_v100", "clock_reset"],
  ] as const)("%s says %s", (name, code) => {
    expect(read(name).lines.has(code)).toBe(true);
  });
});

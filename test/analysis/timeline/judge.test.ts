import { describe, expect, test } from "vitest";
import { judgeTimeline } from "../../../src/analysis/timeline/judge.ts";
import { launches, type MadeRow, type MadeTimeline, madeTimeline } from "../../helpers/timelines.ts";

const judge = (made: MadeTimeline, options = {}) => {
  const judgement = judgeTimeline(madeTimeline(made), options);
  return { ...judgement, codes: judgement.findings.map(({ code }) => code) };
};

/** 200 launches of two kernels: a timeline with nothing wrong. */
const good = (): MadeRow[] => [...launches("a", 100), ...launches("b", 100, { from: 10, us: 5 })];

describe("what a file says about its recording", () => {
  test("nothing is said about a good one", () => {
    expect(judge({ rows: good() })).toMatchObject({ codes: [], refusal: null, idle_reason: null, phase_reason: null });
  });

  test("no version, no GPU", () => {
    const made = { rows: good(), tool: { name: "nsys", version: null }, schema_version: null, gpus: [] } as const;
    expect(judge(made).codes).toStrictEqual(["no_version_recorded", "gpu_not_recorded"]);
    const gpu = madeTimeline({}).gpus[0];
    expect(gpu && judge({ rows: good(), gpus: [{ ...gpu, name: "" }] }).codes).toStrictEqual(["gpu_not_recorded"]);
    // Printed tables never tell either, and traces of torch have no version of torch.
    expect(judge({ ...made, format: "nsys-stats-trace" }).codes).toStrictEqual([]);
    expect(judge({ ...made, format: "torch-trace", tool: { name: "torch", version: null } }).codes).toStrictEqual([
      "gpu_not_recorded",
    ]);
  });

  test("a device that the trace's own list does not hold", () => {
    const made = { rows: launches("k", 30, { device: 9 }), format: "torch-trace" } as const;
    const { findings } = judge(made);
    expect(findings).toMatchObject([
      { code: "device_id_not_in_deviceProperties", evidence: { devices: "9", listed: "0" } },
    ]);
    // With CUDA_VISIBLE_DEVICES nsys lists GPUs of the host and rows count those of the process.
    expect(judge({ ...made, format: "nsys-sqlite" }).codes).toStrictEqual([]);
  });

  test.each([
    ["Not all CUDA events might have been collected.", true],
    ["12 CUDA events were lost.", true],
    ["Not all NVTX events might have been collected.", false],
    ["Number of CUDA events collected: \t897.", false],
    ["CUDA device 0: Unified Memory cannot be traced on devices that don't support peer-to-peer transfers.", false],
    ["CUDA hardware tracing is not supported on this system. A legacy trace was collected instead.", false],
  ])("the tool's own words: %s", (text, isSaid) => {
    const { findings } = judge({ rows: good(), recording: { tool_messages: [text] } });
    expect(findings.map(({ code }) => code)).toStrictEqual(isSaid ? ["tool_warns_cuda_events_incomplete"] : []);
    if (isSaid) expect(findings[0]?.message).toContain(text);
  });

  test("a cut file is said to be one, and its launch calls are not held against it", () => {
    const recording = { is_cut: true, launch_calls: 200, launch_calls_without_row: 150 };
    expect(judge({ rows: good(), recording })).toMatchObject({ codes: ["cut_to_a_window"], refusal: null });
  });

  test("starts that cannot be used", () => {
    expect(judge({ rows: launches("k", 5, { period: 0 }), has_starts: false })).toMatchObject({
      codes: ["starts_not_usable"],
      refusal: null,
    });
  });

  test("rows that were left out are counted with the first of each kind; most of them: no ranking", () => {
    const dropped = [
      { reason: "no_time", count: 3, first: "k" },
      { reason: "outside_int64", count: 1, first: "other" },
    ] as const;
    const few = judge({ rows: good(), recording: { dropped } });
    expect(few.findings.map(({ evidence }) => evidence)).toStrictEqual([
      { reason: "no_time", count: 3, first: "k" },
      { reason: "outside_int64", count: 1, first: "other" },
    ]);
    expect(few.refusal).toBeNull();
    const most = judge({ rows: good(), recording: { dropped: [{ reason: "no_time", count: 300, first: "k" }] } });
    expect(most.refusal).toMatchObject({ code: "timeline_incomplete", evidence: { dropped: 300, of: 500 } });
  });

  test("launch calls without a kernel: the window's end, some, most", () => {
    const missing = (launch_calls_without_row: number) =>
      judge({ rows: good(), recording: { launch_calls: 1000, launch_calls_without_row } });
    expect(missing(0)).toMatchObject({ codes: [], idle_reason: null });
    expect(missing(10)).toMatchObject({ findings: [{ severity: "info" }], idle_reason: null, refusal: null });
    expect(missing(11)).toMatchObject({
      findings: [{ code: "launch_calls_without_kernel", evidence: { count: 11, of: 1000, recorded_share: 0.989 } }],
      refusal: null,
    });
    expect(missing(11).idle_reason).toContain("kernels are missing");
    expect(missing(501).refusal).toMatchObject({ code: "timeline_incomplete" });
  });
});

describe("no kernels", () => {
  const noKernels = (made: MadeTimeline) => judge(made).refusal;

  test("though launch calls were made: with the versions that have to fit", () => {
    const refusal = noKernels({
      recording: { has_kernel_table: false, launch_calls: 32 },
      cuda_version: "13.0",
      driver_version: "580.1",
    });
    expect(refusal).toMatchObject({
      code: "timeline_no_kernels",
      evidence: {
        launch_calls: 32,
        kernel_table: "absent",
        tool_version: "2025.3.2.0",
        cuda_version: "13.0",
        driver_version: "580.1",
      },
    });
    expect(refusal?.message).toContain("32 launch calls, so kernels ran and were not recorded");
  });

  test("table there and empty, only copies, a profiler of counters, nothing at all", () => {
    expect(noKernels({})?.message).toContain("its place for kernels is empty, and nothing of CUDA was recorded");
    const copy = { name: "[CUDA memset]", kind: "memset" as const, at: 0, us: 1 };
    expect(noKernels({ rows: [copy] })?.message).toContain("it holds 1 copy or set");
    expect(noKernels({ recording: { profiler_ranges: 77 } })?.message).toContain("profiler of counters");
    expect(noKernels({ sums: [] })?.code).toBe("timeline_no_kernels");
  });
});

describe("graphs without their kernels", () => {
  test("graph-level rows alone, most of the time, some of it", () => {
    const graphs = (count: number) => launches("graph", count, { kind: "graph", from: 100_000, us: 10 });
    const refusal = judge({ rows: graphs(10), recording: { graph_trace_mode: "Graph" } }).refusal;
    expect(refusal).toMatchObject({ code: "timeline_graph_level_only", evidence: { graphs: 10 } });
    expect(refusal?.hint).toContain("--cuda-graph-trace=node");
    expect(judge({ rows: [...good(), ...graphs(200)] }).refusal?.code).toBe("timeline_graph_level_only");
    const some = judge({ rows: [...good(), ...graphs(10)] });
    expect(some).toMatchObject({ codes: ["graph_level_rows"], refusal: null });
    expect(some.phase_reason).not.toBeNull();
  });

  test("ten graph launches with kernels for one: the recorded share, and no ranking", () => {
    const recording = { graph_launch_calls: 10, graph_launch_calls_without_row: 9 };
    const { refusal } = judge({ rows: launches("node", 20, { inGraph: true }), recording });
    expect(refusal).toMatchObject({ code: "timeline_incomplete", evidence: { count: 9, of: 10 } });
    expect(refusal?.evidence.recorded_share).toBeCloseTo(0.1);
    expect(refusal?.message).toContain("9 of 10 graph launches have no kernel: 10%");
  });

  test("traced at graph level without any row: the export option is named", () => {
    const recording = {
      graph_launch_calls: 32,
      graph_launch_calls_without_row: 32,
      graph_trace_mode: "PROCESS_0:Graph",
    };
    expect(judge({ rows: good(), recording }).refusal?.code).toBe("timeline_graph_level_only");
    // A trace of torch has no such mode: none of the launches has kernels.
    expect(judge({ rows: good(), recording: { ...recording, graph_trace_mode: null } }).refusal).toMatchObject({
      code: "timeline_graph_level_only",
      evidence: { graph_launch_calls: 32, share: null },
    });
  });

  test("some replays missing or shorter: no idle time and no phases", () => {
    const missing = judge({
      rows: good(),
      recording: { graph_launch_calls: 10, graph_launch_calls_without_row: 3 },
    });
    expect(missing).toMatchObject({ codes: ["graph_launches_without_kernels"], refusal: null });
    expect(missing.idle_reason).not.toBeNull();
    expect(missing.phase_reason).not.toBeNull();
    const shorter = judge({ rows: good(), recording: { graph_kernels_min: 3, graph_kernels_max: 8 } });
    expect(shorter).toMatchObject({ codes: ["graph_replays_differ"], refusal: null });
    expect(judge({ rows: good(), recording: { graph_kernels_min: 8, graph_kernels_max: 8 } }).codes).toStrictEqual([]);
  });
});

describe("impossible durations", () => {
  test("3.4 s in a stream whose next event starts 10 us later: named, and no ranking", () => {
    const rows = [...good(), { name: "stuck", at: 5_000, us: 3_400_000 }, ...launches("c", 20, { from: 5_010 })];
    const { refusal, findings } = judge({ rows });
    expect(refusal).toMatchObject({
      code: "timeline_degenerate",
      evidence: {
        count: 1,
        worst_name: "stuck",
        worst_duration_us: 3_400_000,
        worst_stream: "7",
        clipped_us: 3_399_990,
      },
    });
    expect(findings).toMatchObject([{ code: "impossible_durations", evidence: { count: 1, first_name: "stuck" } }]);
  });

  test("a little of it is clipped and said", () => {
    const rows = [...good(), { name: "late", at: 5_000, us: 30 }, { name: "c", at: 5_010, us: 10 }];
    const { refusal, findings } = judge({ rows });
    expect(refusal).toBeNull();
    expect(findings).toMatchObject([
      { code: "impossible_durations", severity: "warning", evidence: { count: 1, clipped_us: 20 } },
    ]);
  });

  test("a copy can be it as well", () => {
    const rows = [
      { name: "[CUDA memcpy Host-to-Device]", kind: "memcpy" as const, at: 0, us: 3_400_000 },
      ...launches("c", 20, { from: 10 }),
    ];
    expect(judge({ rows }).refusal).toMatchObject({ code: "timeline_degenerate" });
  });

  test("programmatic dependent launch of every kernel is none", () => {
    expect(judge({ rows: launches("k", 500, { period: 9, us: 10 }) })).toMatchObject({ codes: [], refusal: null });
  });
});

describe("kernels without any time", () => {
  const zero = launches("k", 3, { us: 0 });
  const copy = { name: "[CUDA memcpy Host-to-Device]", kind: "memcpy" as const, at: 100, us: 50 };

  test("rows of length 0: no ranking, whatever copies took", () => {
    expect(judge({ rows: [...zero, { name: "m", at: 80, us: 0 }, copy] }).refusal).toMatchObject({
      code: "timeline_degenerate",
      message: expect.stringContaining("all 4 kernel launches have a duration of 0"),
      evidence: { kernels: 4 },
    });
    expect(judge({ rows: [{ name: "k", at: 0, us: 0 }] }).refusal?.code).toBe("timeline_degenerate");
  });

  test("sums by name of 0 as well", () => {
    const sums = [{ kernel: "k", launches: 3, total_ns: 0 }];
    expect(judge({ sums }).refusal).toMatchObject({ code: "timeline_degenerate", evidence: { kernels: 3 } });
  });

  test("one that took any time is enough; copies alone are no kernels without time", () => {
    expect(judge({ rows: [...zero, { name: "m", at: 80, us: 0.5 }] }).refusal).toBeNull();
    expect(judge({ rows: [copy] }).refusal?.code).toBe("timeline_no_kernels");
  });
});

describe("one event that holds all the time", () => {
  test("far above its own other launches", () => {
    const rows = [...launches("k", 50), { name: "k", at: 2_000, us: 90_000 }];
    const { refusal } = judge({ rows });
    expect(refusal).toMatchObject({
      code: "timeline_degenerate",
      evidence: { event_name: "k", event_duration_us: 90_000, event_stream: "7", median_of_its_name_us: 10 },
    });
    expect(refusal?.evidence.share).toBeGreaterThan(0.99);
  });

  test("the only one of its name among many others", () => {
    const rows = [...launches("k", 50), { name: "huge", at: 2_000, us: 900_000 }];
    expect(judge({ rows }).refusal).toMatchObject({ code: "timeline_degenerate", evidence: { event_name: "huge" } });
  });

  test("a program of one kernel, or of a big one and a few small ones, is none", () => {
    expect(judge({ rows: [{ name: "k", at: 0, us: 1_000_000 }] }).refusal).toBeNull();
    expect(judge({ rows: [...launches("init", 5), { name: "k", at: 200, us: 1_000_000 }] }).refusal).toBeNull();
    expect(
      judge({ rows: [...launches("init", 50), ...launches("k", 2, { from: 2_000, us: 1e6, period: 1e6 })] }).refusal,
    ).toBeNull();
  });

  test("a collective that waits for its peers is said, and ranked", () => {
    const rows = [...launches("nccl", 50), { name: "nccl", at: 2_000, us: 90_000 }];
    const isCollective = ({ display }: { display: string }) => display === "nccl";
    expect(judge({ rows }, { isCollective })).toMatchObject({ codes: ["collective_holds_the_time"], refusal: null });
  });
});

describe("two ranks merged as one", () => {
  /** The same program twice on one stream, the second one a little later and not in step. */
  const merged = (shift: number) => [
    ...launches("a", 100, { us: 12 }),
    ...launches("b", 100, { from: 12, us: 6 }),
    ...launches("a", 100, { from: shift, us: 12 }),
    ...launches("b", 100, { from: shift + 12, us: 6 }),
  ];

  test.each([1, 3, 7.5])("kernels of one stream at once, %s us apart", (shift) => {
    expect(judge({ rows: merged(shift), recording: { shared_correlations: 200 } }).refusal).toMatchObject({
      code: "timeline_merged_ranks",
      evidence: { shared_correlations: 200 },
    });
  });

  test("without any correlation id in common, where they run past one another", () => {
    expect(judge({ rows: merged(7.5) }).refusal?.code).toBe("timeline_merged_ranks");
  });

  test("an exact copy of every kernel", () => {
    expect(judge({ rows: merged(0), recording: { shared_correlations: 200 } }).refusal?.code).toBe(
      "timeline_merged_ranks",
    );
  });

  test("ids used twice by most kernels, though the ranks never run at once", () => {
    const rows = [...launches("a", 100), ...launches("a", 100, { from: 5_000 })];
    expect(judge({ rows, recording: { shared_correlations: 100 } }).refusal?.code).toBe("timeline_merged_ranks");
    expect(judge({ rows, recording: { shared_correlations: 40 } }).refusal).toBeNull();
  });

  test("told apart by process, rank, device or stream they are no merge", () => {
    for (const own of [{ process: "2" }, { rank: 1 }, { device: 1 }, { stream: "9" }]) {
      const rows = [...launches("a", 100, { us: 12 }), ...launches("a", 100, { from: 3, us: 12, ...own })];
      expect(judge({ rows, recording: { shared_correlations: 2 } })).toMatchObject({ refusal: null });
    }
  });

  test("shared ids without overlap are replays whose launch lies before the window", () => {
    expect(judge({ rows: good(), recording: { shared_correlations: 3 } })).toMatchObject({
      findings: [{ code: "correlation_id_several_kernels_no_graph", severity: "info", evidence: { count: 3 } }],
      refusal: null,
    });
  });
});

describe("steps without kernels", () => {
  const steps = (count: number) =>
    Array.from({ length: count }, (_, step) => ({ text: `ProfilerStep#${step}`, at: step * 1_000, us: 900 }));
  const inSteps = (count: number) => launches("k", count, { from: 100, period: 1_000 });

  test("most of them: no ranking, though totals look well", () => {
    expect(judge({ rows: inSteps(4), ranges: steps(10) }).refusal).toMatchObject({
      code: "timeline_incomplete",
      evidence: { count: 6, of: 10, first: "ProfilerStep#4", first_start_us: 4_000 },
    });
  });

  test("some of them are said; few steps or kernels without calls say nothing", () => {
    expect(judge({ rows: inSteps(6), ranges: steps(10) })).toMatchObject({
      findings: [{ code: "steps_without_kernels", evidence: { count: 4, of: 10 } }],
      refusal: null,
    });
    expect(judge({ rows: inSteps(1), ranges: steps(3) }).refusal).toBeNull();
    expect(judge({ rows: launches("k", 4, { call: null }), ranges: steps(10) })).toMatchObject({
      codes: [],
      refusal: null,
    });
    expect(judge({ rows: inSteps(4), ranges: steps(10), recording: { is_cut: true } }).refusal).toBeNull();
  });
});

test("marks of a process that launches nothing say nothing about kernels", () => {
  const ranges = Array.from({ length: 10 }, (_, step) => ({
    text: `step[DECODE bs=${step + 1}]`,
    at: step * 100,
    us: 90,
    process: "scheduler",
  }));
  expect(judge({ rows: good(), ranges })).toMatchObject({ codes: [], refusal: null });
});

test("migrations and batched copies are said", () => {
  expect(judge({ rows: good(), recording: { managed_copies: 100, batched_copies: 1 } }).codes).toStrictEqual([
    "managed_memory_migrations",
    "batched_copies",
  ]);
});

import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";
import { resultView } from "../../cli/views/result.ts";
import { textWidth } from "../../src/charts/visible-text.ts";
import type { KernelEntry, ProfileResult } from "../../src/model/result.ts";
import { kernelEntry, kernelResult, pipelineResult, timelineSummary } from "../helpers/result.ts";

const PLAIN = { width: 80, colour: false };
const view = (result: ProfileResult, terminal = PLAIN, inputs = ["run.ncu-rep"]): string =>
  resultView(terminal, result, { inputs, fullNames: false }).join("\n");

const moe = (): KernelEntry =>
  kernelEntry(
    {
      target: "fused_moe_kernel",
      roofline: "memory-bound",
      tflops: 278.33,
      memory_bw_utilization: 0.8835,
      sm_occupancy: 0.1858,
      optimization_headroom: "low — memory-bound with 12% BW unused, occupancy limited by shared memory",
    },
    {
      limiter: "dram",
      compute_utilization: 0.29,
      compute_basis: "measured",
      memory_basis: "measured",
      dominant_precision: "bf16",
      tflops_by_precision: { bf16: 278.33 },
      share_of_report: 0.327,
      headroom: {
        within_path: 0.12,
        to_best_path: null,
        best_path: null,
        level: "low",
        distance_with_launch_floor: 0.12,
      },
      timing: {
        source: "ncu",
        n: 1,
        total_us: 1018.464,
        mean_us: 1018.464,
        median_us: 1018.464,
        p90_us: 1018.464,
        min_us: 1018.464,
        max_us: 1018.464,
        spread: 0,
      },
    },
  );

describe("the ranked table", () => {
  it("has one row a kernel with the numbers of the verdict", () => {
    expect(view(pipelineResult([moe()]))).toContain(
      "1  fused_moe_kernel  memory  dram     1.02 ms 32.7% 88% 29%    278 19%  low",
    );
  });

  it("shows what was not measured as a dash with the reason below", () => {
    const bare = kernelEntry(
      { target: "bare" },
      {
        roofline_null_reason: "neither compute nor memory utilisation",
        null_reasons: { tflops: "operations not counted" },
      },
    );
    const text = view(pipelineResult([moe(), bare]));
    expect(text).toMatch(/^2 {2}bare +–¹ +unknown/m);
    expect(text).toContain("¹ neither compute nor memory utilisation");
    expect(text).toMatch(/[²³⁴⁵] operations not counted/);
    expect(text).not.toMatch(/\b(null|NaN|undefined)\b/);
  });

  it("says the same reason once", () => {
    const bare = kernelEntry({}, { roofline_null_reason: "nothing measured" });
    expect(view(pipelineResult([bare, bare, bare])).match(/nothing measured$/gm)?.length).toBe(1 + 3);
  });

  it("marks lower bounds and published peaks", () => {
    const entry = moe();
    entry.detail.compute_basis = "lower_bound";
    entry.detail.memory_basis = "estimated";
    const text = view(pipelineResult([entry]));
    expect(text).toContain(" ~88% >29% ");
    expect(text).toContain("~ rests on a published peak; > lower bound");
  });

  it("says before anything else that a file ends early", () => {
    const result = pipelineResult([moe()], { partial: true });
    result.provenance.reports = [
      {
        id: null,
        sha256: null,
        format: "ncu-rep",
        compression: "none",
        launches: 5,
        partial: true,
        partial_at_byte: 123_456,
        tool: "ncu",
        tool_version: "2025.3.1",
        cuda_version: null,
        driver_version: null,
      },
    ];
    expect(view(result).split("\n")[0]).toBe(
      "PARTIAL: run.ncu-rep ends early at byte 123,456. 5 complete launches were read;",
    );
  });

  it("says how much of the report is shown", () => {
    expect(view(pipelineResult([moe()], { kernels_total: 17, launches: 1200, report_us: 8240 }))).toContain(
      "17 kernels in 1,200 launches, 8.24 ms of kernel time; the 1 with the most time",
    );
  });

  it("shows the time in the timeline beside that under ncu, and what the roof would return", () => {
    const timing = { ...moe().detail.timing, source: "timeline" as const };
    const cluster = {
      timing,
      median_launch: 0,
      launches: [0],
      joined_by: "plan_ordinal" as const,
      ncu_median_us: 1000,
      ncu_over_timeline: 0.982,
      roofline: null,
      roofline_null_reason: null,
      limiter: "dram" as const,
      memory_bw_utilization: null,
      compute_utilization: null,
      sm_occupancy: null,
      tflops: null,
      share_of_kernel: 1,
    };
    const shapes = [{ grid: null, block: null, shared_memory_usage_bytes: null, timing, clusters: [cluster] }];
    const entry = kernelEntry({}, { ...moe().detail, shapes, saving_us: 120, saving_of_busy: 0.012 });
    expect(view(pipelineResult([entry]), { width: 160, colour: false })).toContain(
      "median 1.02 ms in the timeline, 1.00 ms under ncu (ratio 0.98); what was measured of it at its roof: 120 us less, 1.2% of the busy time",
    );
    expect(view(pipelineResult([moe()]))).not.toContain("under ncu");
  });

  it("leads with an idle GPU where there is a timeline", () => {
    const text = view(pipelineResult([moe()], { gpu_busy_us: 42_556, span_us: 909_325 }));
    expect(text).toContain("The GPU was busy for 42.6 ms of 909 ms (4.7%)");
    expect(view(pipelineResult([moe()], { gpu_busy_us: 800, span_us: 1000 }))).not.toContain("busy for");
  });

  it("sets the busy time of several GPUs against the spans of all of them", () => {
    const busy = (wall_us: number) =>
      view(pipelineResult([moe()], { gpu_busy_us: 900, span_us: 1000, timeline: timelineSummary({ wall_us }) }), {
        width: 200,
        colour: false,
      });
    expect(busy(2000)).toContain("The GPU was busy for 900 us of 2.00 ms, all spans added up, (45.0%): nothing");
    expect(busy(1000)).not.toContain("busy for");
    const low = pipelineResult([moe()], { gpu_busy_us: 9, span_us: 90, timeline: timelineSummary({ wall_us: 90 }) });
    expect(view(low)).toContain("The GPU was busy for 9.00 us of 90.0 us (10.0%): nothing");
  });

  it("says nothing of an idle GPU where the span says nothing about idle time", () => {
    const idle = { gpu_busy_us: 240, span_us: 1000 };
    const gap = {
      code: "span_holds_one_long_gap",
      severity: "warning" as const,
      message: "one gap makes it so",
      launch: null,
      evidence: {},
    };
    const timeline = timelineSummary({ wall_us: 1000 });
    expect(view(pipelineResult([moe()], { ...idle, timeline }))).toContain("nothing done to a kernel");
    expect(view(pipelineResult([moe()], { ...idle, timeline, findings: [gap] }))).not.toContain("nothing done to a");
    const missing = pipelineResult([moe()], { ...idle, timeline: { ...timeline, idle: null } });
    expect(view(missing)).not.toContain("nothing done to a kernel");
  });

  it("groups findings by code, the gravest first, with the kernels they concern", () => {
    const findings = (launch: number) => [
      {
        code: "over_bound",
        severity: "info" as const,
        message: `hit rate 100.2% in launch ${launch}`,
        launch,
        evidence: {},
      },
    ];
    const result = pipelineResult([kernelEntry({}, {}, findings(1)), kernelEntry({}, {}, findings(2))], {
      findings: [
        ...findings(1),
        { code: "dram_bytes_disagree", severity: "warning", message: "two reads differ", launch: null, evidence: {} },
      ],
    });
    expect(view(result)).toContain(
      [
        "Findings",
        "  warning dram_bytes_disagree: two reads differ",
        "  info over_bound (kernel 1, 2): hit rate 100.2% in launch 1 [1 more of this",
        "  kind]",
      ].join("\n"),
    );
  });
});

describe("one kernel", () => {
  it("begins with the verdict in a sentence and the headroom", () => {
    const lines = view(kernelResult(moe())).split("\n");
    const name = lines.indexOf("fused_moe_kernel");
    expect(lines.slice(name, name + 4).join(" ")).toBe(
      "fused_moe_kernel Memory-bound by DRAM: DRAM 88% of the peak, compute 29%. Headroom: low — memory-bound with 12% BW unused, occupancy limited by shared memory.",
    );
  });

  it("shows memory levels, stalls, occupancy with its next step, rules and sources", () => {
    const entry = moe();
    entry.warp_stall_reasons = { memory_dependency: 0.66, synchronization: 0.19, not_selected: 0.004 };
    Object.assign(entry.detail.memory, {
      dram_bytes_read: 4_193_173_760,
      dram_bytes_written: 136_596_480,
      levels: [
        {
          level: "l2",
          bytes_per_s: 6.14e12,
          peak_bytes_per_s: 10.28e12,
          utilization: 0.96,
          hit_rate: 0.26,
          arithmetic_intensity_flop_per_byte: 45.3,
        },
      ],
    });
    Object.assign(entry.detail.occupancy, {
      theoretical: 0.1875,
      limiters: ["shared_mem"],
      limits_blocks: { registers: 4, shared_mem: 3, warps: 16 },
      next_step: {
        blocks_per_sm: 4,
        theoretical_occupancy: 0.25,
        max_registers_per_thread: null,
        max_shared_memory_allocated_bytes: 58_368,
        max_static_plus_dynamic_shared_memory_bytes: 57_344,
      },
    });
    entry.detail.hints = [
      {
        rule: "CPIStall",
        section: "WarpStateStats",
        title: "Long Scoreboard Stalls",
        text: null,
        speedup_type: "global",
        speedup_percent: 11.65,
        evidence: [],
      },
    ];
    entry.detail.sources = {
      memory_bw_utilization: { launch: 13, metrics: ["gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"] },
    };
    const text = view(kernelResult(entry));
    expect(text).toMatch(/L2 +6\.14 TB\/s +10\.3 TB\/s +96% +26% +45\.3/);
    expect(text).toContain("DRAM bytes  read 4,193,173,760 B, written 136,596,480 B");
    expect(text).toMatch(/66% {2}█{20} +memory dependency\n {3}19% {2}█{6} +synchronization\n/);
    expect(text).not.toContain("not selected");
    expect(text).toContain("at most: registers 4, shared memory 3, warps 16");
    expect(text.replace(/\n +/g, " ")).toContain(
      "Theoretical occupancy would rise from 19% to 25% (limited by shared memory) with at most 57,344 B of shared memory per block: 4 blocks per SM.",
    );
    expect(text).toContain("Long Scoreboard Stalls (global 11.7%)");
    expect(text.replace(/\n +/g, " ")).toContain(
      "memory_bw_utilization launch 13: gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed".replace(
        "utilization launch",
        "utilization  launch",
      ),
    );
  });

  it("says why there is no verdict and what would help", () => {
    const text = view(
      kernelResult(kernelEntry({ target: "lean" }, { roofline_null_reason: "memory utilisation missing" })),
    );
    expect(text).toContain("No verdict: memory utilisation missing.");
    expect(text).toContain("Measure it again with `ncu --set full`");
  });

  it("lists what else matched", () => {
    const text = view(
      kernelResult(moe(), {
        others: [{ target: "moe", name_key: "moe_align", roofline: null, total_us: 12, launches: 3 }],
      }),
    );
    expect(text).toContain("- moe_align: no verdict, 3 launches, 12.0 us");
  });
});

describe("any result", () => {
  const hostile = `evil\u001b[2J\u001b]0;owned\u0007\u009b31m\u202e\r${"x".repeat(400)}`;
  const entry = (): KernelEntry => {
    const one = moe();
    one.detail.names.display = hostile;
    one.detail.roofline_null_reason = hostile;
    if (one.detail.launch !== null) one.detail.launch.nvtx = [hostile];
    one.detail.hints = [
      {
        rule: hostile,
        section: null,
        title: hostile,
        text: hostile,
        speedup_type: null,
        speedup_percent: 1,
        evidence: [],
      },
    ];
    one.findings = [{ code: "over_bound", severity: "info", message: hostile, launch: 0, evidence: {} }];
    return one;
  };

  it.each([60, 80, 100, 160])("fits into %d columns", (width) => {
    for (const result of [pipelineResult([entry(), moe()]), kernelResult(entry())]) {
      for (const line of view(result, { width, colour: false }, [hostile]).split("\n")) {
        expect(textWidth(line), line).toBeLessThanOrEqual(width);
      }
    }
  });

  it("obeys no control character of a name", () => {
    for (const result of [pipelineResult([entry()]), kernelResult(entry())]) {
      const text = view(result, PLAIN, [hostile]);
      expect(text.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
      expect(text).toContain("\\u{1b}[2J");
    }
  });

  it("is the same text in colour", () => {
    for (const result of [pipelineResult([entry(), moe()]), kernelResult(entry())]) {
      const coloured = view(result, { width: 80, colour: true });
      expect(coloured).toContain("\u001b[");
      expect(stripVTControlCharacters(coloured)).toBe(view(result));
    }
  });
});

import { describe, expect, it } from "vitest";
import { ANALYSES, wantsMetric } from "../../src/analysis/analyses.ts";
import { metricsToAsk, queriedMetrics } from "../../src/analysis/ask.ts";
import { needs } from "../../src/analysis/declaration.ts";
import { fixture, H200 } from "../helpers/fixtures.ts";

/** Columns of the page of a full report: all metrics of ncu 2025.3.1 for the H200 that `--set full` takes. */
const full = new Set(
  fixture(`${H200}h200-full.raw-base-units.csv.gz`)
    .toString("utf8")
    .split("\n", 1)[0]
    ?.split(",")
    .map((cell) => cell.replaceAll('"', "").trim())
    .filter((cell) => /^\w+__/.test(cell)),
);

describe("the counters of a pipeline", () => {
  const ask = metricsToAsk({ names: full, complete: false });
  /** Not in a full report, which has sections that derive their like. */
  const BESIDE = /^(?:lts__t_bytes|l1tex__t_bytes)\./;

  it("are names that a full report has, none of which ncu refuses", () => {
    expect(ask.metrics.length).toBeGreaterThan(150);
    expect(ask.metrics.length).toBeLessThan(294);
    expect(ask.metrics.filter((name) => !full.has(name) && !BESIDE.test(name))).toEqual([]);
    expect(
      ask.metrics.filter((name) => /^(derived__|breakdown:|smsp__pcsamp|device__|profiler__|launch__)/.test(name)),
    ).toEqual([]);
    expect(ask.metrics.filter((name) => !wantsMetric(name))).toEqual([]);
    expect(ask.sections).toEqual(["LaunchStats", "Occupancy"]);
    expect(ask.metrics).toEqual([...new Set(ask.metrics)].sort());
  });

  it("hold every role's first metric that can be had", () => {
    expect(ask.metrics).toContain("gpu__time_duration.sum");
    expect(ask.metrics).not.toContain("gpu__time_duration.avg");
    // The first is derived.
    expect(ask.metrics).toContain("lts__t_bytes.sum.per_second");
    expect(ask.metrics).toContain("l1tex__t_bytes.sum.per_second");
    expect(ask.metrics).toContain("sm__maximum_warps_per_active_cycle_pct");
  });

  it("hold the members of families that are read, and no others", () => {
    expect(ask.metrics).toContain("smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio");
    expect(ask.metrics).toContain("sm__inst_executed_pipe_lsu.avg.pct_of_peak_sustained_elapsed");
    expect(ask.metrics).toContain("idc__request_cycles_active.avg.pct_of_peak_sustained_elapsed");
    expect(ask.metrics).toContain("sm__ops_path_tensor_src_fp8_sparsity_off.sum.per_second");
    expect(ask.metrics).not.toContain("sm__memory_throughput.avg.pct_of_peak_sustained_elapsed");
    expect(ask.metrics).not.toContain("sm__ops_path_tensor_src_fp8_sparsity_off.avg.per_second");
  });

  it("say what is left out and why", () => {
    const reasons = new Map(ask.left_out.map(({ name, reason }) => [name, reason]));
    expect(reasons.get("derived__local_spilling_requests")).toBe("not_by_name");
    expect(reasons.get("breakdown:sm__throughput.avg.pct_of_peak_sustained_elapsed")).toBe("not_by_name");
    expect(reasons.get("device__attribute_display_name")).toBe("always_there");
    expect(reasons.get("profiler__replayer_passes")).toBe("always_there");
  });

  it("are the same from names without suffixes, as ncu lists them", () => {
    const table = [...new Set([...full].map((name) => name.replace(/\..*$/, "")))]
      .map((name) => `${name.padEnd(90)} Counter  byte  # of something`)
      .join("\n");
    const queried = queriedMetrics(
      `Device NVIDIA H200 (GH100)\n${"-".repeat(30)}\nMetric Name   Metric Type\n${table}\n`,
    );
    expect(queried.names.size).toBeGreaterThan(300);
    const asked = metricsToAsk(queried);
    expect(asked.sections).toEqual(ask.sections);
    expect(ask.metrics.filter((name) => !asked.metrics.includes(name) && !BESIDE.test(name))).toEqual([]);
    expect(asked.left_out).toContainEqual({
      name: "derived__lts__lts2xbar_bytes.sum.per_second",
      reason: "not_by_name",
    });
  });

  it("come from sections where the members of families are not known", () => {
    const blind = metricsToAsk(null);
    expect(blind.sections).toEqual([
      "LaunchStats",
      "Occupancy",
      "SpeedOfLight",
      "SpeedOfLight_HierarchicalTensorRooflineChart",
      "WarpStateStats",
    ]);
    expect(blind.metrics).toContain("gpu__time_duration.sum");
    expect(blind.left_out).toContainEqual({
      name: "smsp__average_warps_issue_stalled_*_per_issue_active.ratio",
      reason: "by_section",
    });
  });

  it("follow the declarations", () => {
    const more = [...ANALYSES, { name: "new", needs: needs.optionalMetrics(["pcie__read_bytes.sum", "no__such.sum"]) }];
    const asked = metricsToAsk({ names: full, complete: true }, more);
    expect(asked.left_out).toContainEqual({ name: "no__such.sum", reason: "not_known" });
    const [known = ""] = [...full].filter((name) => name.startsWith("pcie__") && !wantsMetric(name));
    const one = metricsToAsk({ names: full, complete: true }, [
      { name: "new", needs: needs.required("passes").concat(needs.optionalMetrics([known])) },
    ]);
    expect(one).toEqual({
      sections: [],
      metrics: [known],
      left_out: [{ name: "profiler__replayer_passes", reason: "always_there" }],
    });
  });
});

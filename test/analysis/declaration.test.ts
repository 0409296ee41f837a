import { describe, expect, test } from "vitest";
import { ANALYSES, launchResults, wantsMetric } from "../../src/analysis/index.ts";
import type { MetricSet } from "../../src/model/metrics.ts";
import { reportOf } from "../helpers/metric-set.ts";
import { fixtureInput } from "../helpers/verdicts.ts";

test("every analysis has a name of its own and needs something", () => {
  const names = ANALYSES.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  for (const { name, needs } of ANALYSES) expect(needs.length, name).toBeGreaterThan(0);
});

test("wants roles, single metrics and families, and nothing else", () => {
  for (const name of [
    "gpu__time_duration.sum",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "breakdown:sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "device__attribute_display_name",
    "sm__ops_path_tensor_op_utchmma_src_bf16_dst_fp32_sparsity_off.sum.per_second",
    "smsp__average_warps_issue_stalled_a_reason_of_next_year_per_issue_active.ratio",
    "sass__inst_executed_register_spilling",
  ]) {
    expect(wantsMetric(name), name).toBe(true);
  }
  for (const name of [
    "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
    "sm__warps_active.max",
    "x",
    "",
  ]) {
    expect(wantsMetric(name), name).toBe(false);
  }
});

/** A set of metrics that fails the test when something reads what no analysis declares. */
const declaredOnly = (metrics: MetricSet): MetricSet => {
  const check = <T>(name: string, value: T): T => {
    if (!wantsMetric(name)) throw new Error(`${name} is read and not declared`);
    return value;
  };
  return {
    number: (name) => check(name, metrics.number(name)),
    text: (name) => check(name, metrics.text(name)),
    absence: (name) => check(name, metrics.absence(name)),
    resolution: (name) => check(name, metrics.resolution(name)),
    names: () => metrics.names(),
  };
};

describe.each([
  "h200-full.ncu-rep.gz",
  "tiny-verdict.ncu-rep.gz",
  "h200-server-under-ncu.ncu-rep.gz",
  "h200-full.raw-base-units.csv.gz",
])("%s", (file) => {
  test("is judged by declared metrics alone", async () => {
    const { report } = await fixtureInput(file);
    const launches = report.launches.map((launch) => ({ ...launch, metrics: declaredOnly(launch.metrics) }));
    const results = [
      ...launchResults({ report: reportOf(launches, { devices: report.devices }), id: null, sha256: null }),
    ];
    expect(results).toHaveLength(report.launches.length);
  });
});

import { describe, expect, test } from "vitest";
import { type AnalysisInput, analyze } from "../../src/analysis/index.ts";
import type { MetricSet } from "../../src/model/metrics.ts";
import type { KernelResult } from "../../src/model/result.ts";
import {
  asRecorded,
  expectedFrom,
  expectLeaves,
  fixtureInput,
  launchResultsOf,
  leavesOf,
  recordedVerdicts,
} from "../helpers/verdicts.ts";

const REPORTS = [
  { report: "h200-full.ncu-rep.gz", recorded: "h200" },
  { report: "tiny-full.ncu-rep.gz", recorded: "tiny" },
] as const;

describe.each(REPORTS)("each launch of $report", ({ report, recorded }) => {
  test("has every recorded value to nine digits", async () => {
    const results = launchResultsOf(await fixtureInput(report));
    const verdicts = recordedVerdicts(recorded);
    expect(results).toHaveLength(verdicts.length);
    for (const [index, verdict] of verdicts.entries()) {
      const actual = asRecorded(results[index]!);
      const expected = expectedFrom(verdict);
      expect(Object.keys(actual).sort()).toStrictEqual(Object.keys(expected).sort());
      expectLeaves(actual, expected, (_, value) => 1e-9 * Math.abs(value));
      // Lists in full: a leaf too many would pass above.
      for (const list of ["findings", "latency_reasons", "compute_utilization_set_by", "hints"]) {
        expect(actual[list], list).toHaveLength(expected[list].length);
      }
      for (const table of ["tflops", "tensor_paths", "stall_shares", "detail_counters", "occupancy_limits"]) {
        expect(Object.keys(actual[table]).sort(), table).toStrictEqual(Object.keys(expected[table]).sort());
      }
    }
  });

  test("comes out the same when the reader keeps only declared metrics", async () => {
    const declared = await fixtureInput(report);
    const all = await fixtureInput(report, true);
    expect(launchResultsOf(declared)).toStrictEqual(launchResultsOf(all));
  });
});

const shifted = (metrics: MetricSet, name: string): MetricSet => ({
  number: (asked) => {
    const value = metrics.number(asked);
    return asked === name && value !== null ? value + metrics.resolution(name) : value;
  },
  text: (asked) => metrics.text(asked),
  absence: (asked) => metrics.absence(asked),
  resolution: (asked) => metrics.resolution(asked),
  names: () => metrics.names(),
});

/** Relative resolution that no longer needs to be propagated one by one. */
const FINE = 1e-9;

/** By how much each number of a launch may be off, because the page printed rounded cells: propagated cell by cell. */
function propagated(input: AnalysisInput, index: number, result: KernelResult): Map<string, number> {
  const launch = input.report.launches[index]!;
  const base = leavesOf(asRecorded(result));
  const allowed = new Map<string, number>();
  for (const name of launch.metrics.names()) {
    const [value, resolution] = [launch.metrics.number(name), launch.metrics.resolution(name)];
    if (value === null || resolution <= FINE * Math.abs(value)) continue;
    const report = { ...input.report, launches: [{ ...launch, metrics: shifted(launch.metrics, name) }] };
    for (const [path, moved] of leavesOf(asRecorded(launchResultsOf({ ...input, report })[0]!))) {
      const before = base.get(path);
      if (typeof moved !== "number" || typeof before !== "number" || moved === before) continue;
      allowed.set(path, (allowed.get(path) ?? 0) + Math.abs(moved - before));
    }
  }
  return allowed;
}

const PAGES = [
  { page: "h200-full.raw-base-units.csv.gz", recorded: "h200" },
  { page: "h200-full.raw.csv.gz", recorded: "h200" },
  { page: "tiny-full.raw-base-units.csv.gz", recorded: "tiny" },
] as const;

interface Shown {
  readonly code: string;
  readonly metric: string;
}
const codeOf = ({ code, metric }: Shown): string => `${code} ${metric}`;

test("the details page has the findings of the report whose metrics it prints", async () => {
  const input = await fixtureInput("h200-full.details.csv.gz");
  const verdicts = recordedVerdicts("h200");
  for (const [index, result] of launchResultsOf(input).entries()) {
    const { metrics } = input.report.launches[index]!;
    // It prints neither warp states nor what HFMA2 does, so those findings cannot be drawn.
    expect(result.detail.stalls.sum_over_warp_latency).toBeNull();
    expect(result.detail.fp16_vector_is_probably_moves).toBeNull();
    const printed = verdicts[index].findings.filter(
      ({ code, metric }: Shown) => code === "over_bound" && metrics.number(metric) !== null,
    );
    expect(asRecorded(result).findings.map(codeOf), `launch ${index}`).toStrictEqual(printed.map(codeOf));
  }
});

describe.each(PAGES)("each launch of $page", ({ page, recorded }) => {
  test("has every recorded value within the printed digits", async () => {
    const input = await fixtureInput(page);
    const results = launchResultsOf(input);
    const verdicts = recordedVerdicts(recorded);
    expect(results).toHaveLength(verdicts.length);
    for (const [index, verdict] of verdicts.entries()) {
      const result = results[index]!;
      const allowed = propagated(input, index, result);
      const actual = asRecorded(result);
      const { compute_utilization_set_by: setBy, hints: _none, findings, ...expected } = expectedFrom(verdict);
      // Rounding makes no finding that the report does not have, and hides one only where it can explain it.
      const drawn = actual.findings.map(codeOf);
      const shared = findings.filter((one: Shown) => drawn.includes(codeOf(one)));
      expect(drawn, `launch ${index}`).toStrictEqual(shared.map(codeOf));
      for (const hidden of findings.filter((one: Shown) => !drawn.includes(codeOf(one)))) {
        expect(hidden.code, `launch ${index}`).toBe("stall_shares_unreliable");
        const off = Math.abs(actual.stall_sum_over_warp_latency - 1);
        expect(off - (allowed.get("/stall_sum_over_warp_latency") ?? 0) * 1.01).toBeLessThanOrEqual(0.05);
      }
      // The page prints simplified names, and NVTX ranges only where they were recorded.
      expectLeaves(
        actual,
        { ...expected, findings: shared, name_in_report: verdict.name },
        (path, value) => (allowed.get(path) ?? 0) * (1 + FINE) + 1e-6 * Math.abs(value),
      );
      // At two decimals several counters may equal the utilisation; the group is the same (limiter above).
      expect(actual.compute_utilization_set_by).toEqual(expect.arrayContaining(setBy));
      expect(actual.hints).toStrictEqual([]);
    }
  });
});

test("the pipeline of a CSV page has the kernels of the report in the same order", async () => {
  const [report, page] = await Promise.all([
    fixtureInput("tiny-full.ncu-rep.gz"),
    fixtureInput("tiny-full.raw-base-units.csv.gz"),
  ]);
  const ranked = (input: AnalysisInput) => {
    const result = analyze([input], { target: "full pipeline" });
    if (!result.ok || result.value.kind !== "pipeline") throw new Error("no pipeline");
    return result.value.kernels.map(({ target, roofline, optimization_headroom }) => [
      target,
      roofline,
      optimization_headroom,
    ]);
  };
  expect(ranked(page)).toStrictEqual(ranked(report));
});

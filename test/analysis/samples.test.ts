import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { analyze } from "../../src/analysis/index.ts";
import type { KernelResult } from "../../src/model/result.ts";
import { kernelResultSchema } from "../../src/model/result.ts";
import { samplesDir } from "../helpers/fixtures.ts";
import { inputFrom, launchResultsOf } from "../helpers/verdicts.ts";

interface Expected {
  readonly durationNs: number | null;
  readonly smHz: number | null;
  readonly peakDramBytesPerS: number | null;
  readonly dramBytesPerS: number | null;
  readonly peakFp32: number | null;
  readonly fp32: number | null;
  readonly peakFp64: number | null;
  readonly fp64: number | null;
  readonly peakFp16: number | null;
  readonly fp16: number | null;
  readonly tensorOps: Readonly<
    Record<string, { readonly perSecond: number; readonly pct: number; readonly peakPerSecond: number }>
  >;
  readonly tensorOpsMetricsPresent: boolean;
  readonly smPct: number | null;
  readonly dramPct: number | null;
  readonly waves: number | null;
}

const scaled = (value: number | null | undefined, factor: number): number | null =>
  value === null || value === undefined ? null : value * factor;

/** What a result says in the units of the expected values; rates that were counted and are 0 are left out of a result. */
function measured(result: KernelResult): Record<string, number | null> {
  const { detail } = result;
  const peak = (precision: string): number | null => {
    const figure = detail.peak_tflops_by_precision?.[precision];
    return figure?.source === "launch_counters" ? figure.tflops * 1e12 : null;
  };
  const rate = (precision: string): number | null =>
    detail.tflops_by_precision === null ? null : (detail.tflops_by_precision[precision] ?? 0) * 1e12;
  return {
    durationNs: scaled(result.wall_clock_us, 1000),
    smHz: detail.sm_clock_hz,
    peakDramBytesPerS:
      detail.memory.peak_dram_source === "launch_counters" ? detail.memory.peak_dram_bytes_per_s : null,
    dramBytesPerS: detail.memory.dram_bytes_per_s,
    peakFp32: peak("fp32"),
    fp32: rate("fp32"),
    peakFp64: peak("fp64"),
    fp64: rate("fp64"),
    peakFp16: peak("fp16_vector"),
    smPct: scaled(detail.compute_utilization, 100),
    dramPct: scaled(result.memory_bw_utilization, 100),
    waves: detail.waves_per_sm,
  };
}

const directory = samplesDir();
const expected: Record<string, Expected[]> =
  directory === null ? {} : JSON.parse(readFileSync(join(directory, "expected", "roofline.json"), "utf8"));

describe.skipIf(directory === null)("reports of others", () => {
  test.each(Object.entries(expected))("%s", async (file, launches) => {
    const input = await inputFrom(join(String(directory), "rep", `${file}.gz`));
    const results = launchResultsOf(input);
    expect(results).toHaveLength(launches.length);
    for (const [index, wanted] of launches.entries()) {
      const result = results[index]!;
      expect(kernelResultSchema.parse(result)).toStrictEqual(result);
      const got = measured(result);
      for (const [field, value] of Object.entries(got)) {
        const right = wanted[field as keyof Expected] as number | null;
        // Where nothing is expected a fall-back may know the number.
        if (right === null) continue;
        expect(value, `${index} ${field}`).not.toBeNull();
        expect(Math.abs(Number(value) - right), `${index} ${field}`).toBeLessThanOrEqual(1e-9 * Math.abs(right));
      }
      expect(result.detail.tensor_paths.map(({ metric }) => metric).sort()).toStrictEqual(
        Object.keys(wanted.tensorOps).sort(),
      );
      for (const path of result.detail.tensor_paths) {
        const right = wanted.tensorOps[path.metric]!;
        expect(path.ops_per_s).toBeCloseTo(right.perSecond, 0);
        expect(100 * Number(path.utilization)).toBeCloseTo(right.pct, 9);
      }
      // The busiest memory level is another number, and no verdict may come of it.
      if (wanted.dramPct !== null && wanted.smPct !== null) expect(result.roofline).not.toBeNull();
    }
    expect(analyze([input], { target: "full pipeline" }).ok).toBe(true);
  });

  test("reports that cannot carry a verdict say so", async () => {
    const reasons = async (file: string) =>
      launchResultsOf(await inputFrom(join(String(directory), "rep", `${file}.ncu-rep.gz`))).map(
        ({ roofline, detail }) => [roofline, detail.roofline_null_reason],
      );
    expect(await reasons("cs599k_metrics-only")).toStrictEqual(
      Array.from({ length: 3 }, () => [null, "the launch has no duration"]),
    );
    for (const [roofline, reason] of await reasons("extrap_ex-gpu.s10")) {
      expect(roofline).toBeNull();
      expect(reason).toBe("compute utilisation missing; memory utilisation missing");
    }
  });
});

describe.skipIf(directory === null)("pages of others", () => {
  const PAGES = [
    "a100_cc80_blocksize_cols_rules",
    "a100_ncu2021_details_rules_flashattn",
    "european_locale_2025.1_windows",
    "noise_terminated_before_instrumented_then_csv",
    "nsightful_t4_base_units_thousands",
    "prof_lines_then_header",
    "rtx4090_reduceInteger",
    "rtx5090_details",
  ];
  test.each(PAGES)("%s gives results of the published shape", async (file) => {
    const input = await inputFrom(join(String(directory), "csv", `${file}.csv.gz`));
    const results = launchResultsOf(input);
    expect(results.length).toBeGreaterThan(0);
    for (const result of results) {
      expect(kernelResultSchema.parse(result)).toStrictEqual(result);
      if (result.roofline === null) expect(result.detail.roofline_null_reason).toBeTruthy();
    }
    expect(analyze([input], { target: "full pipeline" }).ok).toBe(true);
  });
});

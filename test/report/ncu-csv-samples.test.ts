import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openFile } from "../../src/base/file-source.ts";
import type { ReadFailure, Report } from "../../src/model/report.ts";
import { readReport } from "../../src/report/detect.ts";
import { samplesDir } from "../helpers/fixtures.ts";
import { checkReport } from "./ncu-csv-pages.ts";

const directory = samplesDir();

async function result(name: string): Promise<Report | ReadFailure> {
  const path = join(directory ?? "", "csv", `${name}.csv.gz`);
  expect(existsSync(path)).toBe(true);
  const read = await readReport(openFile(path));
  if (!read.ok) return read.error;
  checkReport(read.value);
  return read.value;
}

async function read(name: string): Promise<Report> {
  const report = await result(name);
  if ("code" in report) throw new Error(report.message);
  return report;
}

const number = (report: Report, launch: number, metric: string): number | null =>
  report.launches[launch]!.metrics.number(metric);

describe.skipIf(directory === null)("pages of others", () => {
  test("a page under a European locale", async () => {
    const report = await read("european_locale_2025.1_windows");
    expect(report).toMatchObject({ format: "ncu-csv-details", compression: "gzip", partial: false });
    expect(report.launches.map(({ names, grid, block }) => [names.function, grid, block])).toEqual([
      ["ampere_sgemm_128x64_nn", [128, 1, 1], [512, 1, 1]],
      ["reduce_kernel", [1, 123, 1], [512, 1, 1]],
    ]);
    expect(number(report, 0, "gpu__time_duration.sum")).toBe(117_344);
    expect(number(report, 0, "dram__bytes.sum")).toBe(27_595_520);
    expect(number(report, 0, "sm__throughput.avg.pct_of_peak_sustained_elapsed")).toBe(65.77);
    expect(number(report, 0, "launch__occupancy_limit_blocks")).toBe(24);
    expect(number(report, 1, "gpu__time_duration.sum")).toBe(14_912);
    expect(number(report, 1, "sm__throughput.avg.pct_of_peak_sustained_elapsed")).toBe(6.7);
    expect(report.findings).toMatchObject([{ code: "launches_renumbered", evidence: { examples: "ID 2 is 1" } }]);
  });

  test("the oldest layout: no shape, a date, rules of type WRN", async () => {
    const report = await read("a100_ncu2021_details_rules_flashattn");
    expect(report.launches).toHaveLength(7);
    for (const launch of report.launches) {
      expect([launch.grid, launch.block, launch.device, launch.created_at_unix_s]).toEqual([null, null, null, null]);
      expect(launch.names.demangled).toBe(launch.names.display);
      expect(launch.names.simplified).toBe(false);
      expect(launch.hints).toEqual([]);
    }
    expect(report.launches[0]!.names.function).toBe("distribution_elementwise_grid_stride_kernel");
    expect(number(report, 0, "dram__bytes.sum")).toBe(384);
    expect(number(report, 0, "sm__cycles_elapsed.avg.per_second")).toBe(999_845_384.51);
    expect(number(report, 0, "sm__warps_active.avg.pct_of_peak_sustained_active")).toBe(49.16);
    expect(number(report, 0, "launch__grid_size")).toBe(768);
    expect(report.launches[0]!.metrics.text("launch__func_cache_config")).toBe("cudaFuncCachePreferNone");
    // The excerpt ends inside the last launch, behind a row: what it lacks is absent.
    expect(report.launches[6]!.metrics.absence("launch__grid_size")).toBe("absent");
  });

  test("lines of the tool before the header", async () => {
    const report = await read("prof_lines_then_header");
    expect(report.launches).toHaveLength(5);
    expect(report.launches[0]!.process_id).toBe(120_229);
    expect(number(report, 0, "dram__bytes.sum")).toBe(256);
    expect(number(report, 0, "sm__inst_executed_pipe_tensor.sum")).toBe(2048);
  });

  test("204 lines of program output and an error before the header", async () => {
    const report = await read("noise_terminated_before_instrumented_then_csv");
    expect(report.launches).toHaveLength(24);
    expect(report.launches[0]!.names.function).toBe("upsample_bilinear2d_out_frame");
    expect(number(report, 0, "gpu__time_duration.sum")).toBe(11_328);
    expect(number(report, 0, "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed")).toBe(0);
    expect(report.launches[0]!.metrics.resolution("gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed")).toBe(0);
    expect(report.launches[1]!.metrics.resolution("gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed")).toBe(
      0.005,
    );
    expect(report.findings).toMatchObject([{ code: "tool_error", evidence: { count: 1 } }]);
  });

  test("columns for shape, device and compute capability", async () => {
    const report = await read("a100_cc80_blocksize_cols_rules");
    expect(report.launches).toHaveLength(11);
    expect(report.launches[0]).toMatchObject({ grid: [1, 1, 1], block: [32, 16, 1], device: 0, process_id: 102_476 });
    expect(report.launches[0]!.names).toMatchObject({ function: "reduce_kernel", simplified: false });
    expect(number(report, 0, "device__attribute_compute_capability_major")).toBe(8);
    expect(number(report, 1, "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum")).toBe(2080);
    expect(number(report, 0, "launch__occupancy_limit_blocks")).toBe(32);
  });

  test("a run without a kernel is refused with what the tool said", async () => {
    expect(await result("error_only_no_kernels")).toMatchObject({
      code: "no_kernels",
      message: expect.stringContaining("==ERROR== The application returned an error code (2)."),
    });
  });

  test("base units with thousands separators, rows of two lengths, hints", async () => {
    const report = await read("nsightful_t4_base_units_thousands");
    expect(report.launches).toHaveLength(1);
    expect(report.launches[0]!.names.function).toBe("copy_blocked");
    expect(number(report, 0, "dram__cycles_elapsed.avg.per_second")).toBe(4_963_609_951.19);
    expect(number(report, 0, "gpu__time_duration.sum")).toBe(21_058_944);
    expect(number(report, 0, "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed")).toBe(61.84);
    expect(number(report, 0, "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed")).toBe(61.84);
    expect(number(report, 0, "dram__bytes.sum.per_second")).toBe(196_456_177_859.63);
    expect(number(report, 0, "profiler__pmsampler_interval_cycles")).toBe(40_000);
    expect(report.launches[0]!.hints.length).toBe(8);
    expect(report.launches[0]!.hints.at(-1)).toMatchObject({
      section: "SourceCounters",
      speedup_type: "global",
      speedup_percent: 74.14,
    });
  });

  test("metrics that the chip does not have, scaled units", async () => {
    const report = await read("rtx5090_details");
    const { metrics, hints } = report.launches[0]!;
    expect(number(report, 0, "dram__bytes_read.sum")).toBe(2_330_000);
    expect(metrics.resolution("dram__bytes_read.sum")).toBeCloseTo(5000, 5);
    expect(number(report, 0, "dram__bytes_write.sum")).toBe(0);
    expect(metrics.absence("flop_count_hp.sum")).toBe("not_available");
    expect(metrics.absence("sm__ops_path_tensor_src_bf16_dst_bf16.sum")).toBe("not_available");
    expect(number(report, 0, "gpu__time_duration.sum")).toBe(6750);
    expect(number(report, 0, "dram__cycles_elapsed.avg.per_second")).toBe(13.72e9);
    expect(number(report, 0, "dram__bytes.sum.per_second")).toBe(345.14e9);
    expect(number(report, 0, "dram__throughput.avg.pct_of_peak_sustained_elapsed")).toBe(19.66);
    expect(number(report, 0, "device__attribute_compute_capability_major")).toBe(12);
    expect(hints.map(({ rule, speedup_percent }) => [rule, speedup_percent])).toEqual([
      ["SOLBottleneck", null],
      ["IssueSlotUtilization", 80.34],
      ["TheoreticalOccupancy", 80.34],
    ]);
  });

  test("numbers without separators, long unit names", async () => {
    const report = await read("rtx4090_reduceInteger");
    expect(report.launches).toHaveLength(9);
    expect(report.launches[0]!.names).toMatchObject({ function: "reduceNeighbored", simplified: true });
    expect(number(report, 0, "gpu__time_duration.sum")).toBe(814_048);
    expect(number(report, 0, "dram__bytes_read.sum.per_second")).toBe(82_445_221_903.38);
    expect(number(report, 0, "branch_inst_executed")).toBe(32_505_856);
    expect(number(report, 0, "smsp__average_inst_executed_per_warp.ratio")).toBe(825.06);
    expect(report.findings).toEqual([]);
  });

  test.each([
    ["cs599k_silu-pytorch-ncu-report", "wrong_kind"],
    ["log_bwd29_app_error1_report_written", "wrong_kind"],
    ["log_bwd29_backup_sysmem_unmodified_clocks", "wrong_kind"],
    ["log_killed_midprofile_v100", "wrong_kind"],
    ["log_no_sections_and_unsupported_cc12", "wrong_kind"],
    ["log_jakeflasher_prof_midline", "no_kernels"],
    ["log_lockfile_fail", "no_kernels"],
    ["log_mig_clock_lock_fail", "no_kernels"],
    ["log_driver_resource_unavailable_dcgm", "no_kernels"],
  ])("console text %s is refused as %s", async (name, code) => {
    const read = await readReport(openFile(join(directory ?? "", "text", `${name}.txt`)));
    expect(read).toMatchObject({ ok: false, error: { code } });
  });
});

import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { demangledKernel } from "../../src/analysis/demangle.ts";
import { nameKey, normalizeName } from "../../src/analysis/names.ts";
import type { KernelNames } from "../../src/model/launch.ts";
import { GPU_ROW_KINDS, type Timeline } from "../../src/model/timeline.ts";
import { readTimeline } from "../../src/timeline/detect.ts";
import { fixturePath, H200, samplesDir } from "../helpers/fixtures.ts";
import { inputFrom } from "../helpers/verdicts.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "names-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

async function timelineOf(path: string): Promise<Timeline> {
  const result = await readTimeline(path, folder);
  if (!result.ok) throw new Error(`${path}: ${result.error.message}`);
  return result.value;
}

async function reportNames(path: string): Promise<KernelNames[]> {
  const { report } = await inputFrom(path);
  return report.launches.map(({ names }) => names);
}

function launchesByKey({ names, rows }: Timeline): Record<string, number> {
  const keys = names.map((one) => nameKey(one).key);
  const launches: Record<string, number> = {};
  for (let row = 0; row < rows.count; row++) {
    if (GPU_ROW_KINDS[rows.kind[row]!] !== "kernel") continue;
    const key = keys[rows.name[row]!]!;
    launches[key] = (launches[key] ?? 0) + 1;
  }
  return launches;
}

/** Without parameters, as keys are; two functions of one name and other parameters were always one kernel. */
function collapsed(names: readonly KernelNames[]): string[][] {
  const byKey = new Map<string, Set<string>>();
  for (const one of names) {
    const { key } = nameKey(one);
    const spelled = one.mangled ?? one.demangled ?? one.display;
    byKey.set(key, (byKey.get(key) ?? new Set()).add(spelled));
  }
  return [...byKey.values()].filter(({ size }) => size > 1).map((spellings) => [...spellings]);
}

const keysOf = (names: readonly KernelNames[]): number => new Set(names.map((one) => nameKey(one).key)).size;

/** What the two demanglers say of a symbol has to be one key. */
function disagreeing(names: readonly KernelNames[]): string[] {
  return names.flatMap(({ mangled, demangled, display }) => {
    const own = mangled === null ? null : demangledKernel(mangled);
    if (own === null || demangled === null || demangled === "") return [];
    return normalizeName(own) === normalizeName(demangled) ? [] : [display];
  });
}

test("nsys and torch saw the same launches of every kernel in two runs of one program", async () => {
  const nsys = launchesByKey(await timelineOf(fixturePath("timelines/h200-pipeline.nsys.sqlite.gz")));
  const torch = launchesByKey(await timelineOf(fixturePath("timelines/h200-pipeline.torch-trace.json.gz")));
  expect(torch).toStrictEqual(nsys);
  expect(Object.keys(torch)).toHaveLength(79);
});

test("a table of nsys stats has the keys of the database", async () => {
  const text = await timelineOf(fixturePath("timelines/tiny-collective.nsys-stats.txt"));
  const database = await timelineOf(fixturePath("timelines/tiny-collective.nsys.sqlite.gz"));
  const keys = (timeline: Timeline) => new Set(Object.keys(launchesByKey(timeline)));
  expect(keys(text)).toStrictEqual(keys(database));
});

test("kernels that nsys and ncu saw have one key by symbol", async () => {
  const nsys = await timelineOf(fixturePath("timelines/h200-pipeline.nsys.sqlite.gz"));
  const bySymbol = new Map(nsys.names.map((names) => [names.mangled, nameKey(names).key]));
  let shared = 0;
  for (const file of ["h200-server-under-ncu.ncu-rep.gz", "h200-full.ncu-rep.gz", "h200-sections.ncu-rep.gz"])
    for (const names of await reportNames(fixturePath(H200 + file))) {
      if (names.mangled === null || !bySymbol.has(names.mangled)) continue;
      shared++;
      expect(nameKey(names).key).toBe(bySymbol.get(names.mangled));
    }
  expect(shared).toBeGreaterThan(5);
});

describe("different kernels keep different keys", () => {
  test.each([
    ["timelines/h200-pipeline.nsys.sqlite.gz", 79],
    ["timelines/h200-pipeline.torch-trace.json.gz", 79],
    ["timelines/tiny-collective.nsys.sqlite.gz", 5],
    ["timelines/tiny-graph-nodes.nsys.sqlite.gz", 4],
  ])("in %s", async (file, kernels) => {
    const timeline = await timelineOf(fixturePath(file));
    expect(collapsed(timeline.names)).toStrictEqual([]);
    expect(disagreeing(timeline.names)).toStrictEqual([]);
    expect(Object.keys(launchesByKey(timeline))).toHaveLength(kernels);
  });

  const reports = readdirSync(fixturePath(H200)).filter((file) => file.endsWith(".ncu-rep.gz"));
  test.each(reports)("in %s", async (file) => {
    const names = await reportNames(fixturePath(H200 + file));
    expect(collapsed(names)).toStrictEqual([]);
    expect(disagreeing(names)).toStrictEqual([]);
    expect(keysOf(names)).toBe(new Set(names.map(({ mangled, display }) => mangled ?? display)).size);
  });

  const samples = samplesDir();
  /** Kernels by key of each file, which were as many before names of other tools had the same keys. */
  const counts: Readonly<Record<string, number>> = {
    "timelines/nsys_2021_two_v100_no_metadata.sqlite.gz": 3,
    "timelines/nsys_2023.1_3090_nvtx.sqlite.gz": 15,
    "timelines/nsys_2025.3_t4_nvtx.sqlite.gz": 11,
    "timelines/nsys_h100_2gpu.sqlite.gz": 45,
    "timelines/nsys_stats_kern_sum_rtx5090.csv.gz": 46,
    "timelines/torch_2021_v100_capital_categories.json.gz": 69,
    "timelines/torch_a100_cuda_graphs_rank0_of_16.json.gz": 89,
    "timelines/torch_rank0_of_128.json.gz": 198,
    "timelines/torch_rank1_of_128.json.gz": 187,
    "timelines/torch_rtx4060_cuda13_kernels_missing.json.gz": 2,
    "timelines/torch_sglang_mi300x_decode_graph.json.gz": 29,
    "timelines/torch_vllm_mi300x_decode_graph.json.gz": 25,
    "rep/bwd29_BIGCROSS3.ncu-rep.gz": 1,
    "rep/bwd29_MSDKT23.ncu-rep.gz": 1,
    "rep/cs599k_a100_full.ncu-rep.gz": 1,
    "rep/cs599k_dup_duration.ncu-rep.gz": 2,
    "rep/cs599k_metrics-only.ncu-rep.gz": 2,
    "rep/extrap_ex-gpu.s10.ncu-rep.gz": 5,
    "rep/lashi_torchLinear_emptydemangled.ncu-rep.gz": 2,
    "rep/mojo_profile.ncu-rep.gz": 4,
    "rep/nvidia_CuVectorAddDrv.ncu-rep.gz": 1,
    "rep/nvidia_manual_nvtx.ncu-rep.gz": 3,
    "rep/panjd123_cutlass_s4.ncu-rep.gz": 2,
    "rep/syswea_t4_full_wmma_tensorops_1.ncu-rep.gz": 2,
    "rep/thedavidchu_2020.3.1.ncu-rep.gz": 1,
    "csv/a100_cc80_blocksize_cols_rules.csv.gz": 2,
    "csv/a100_ncu2021_details_rules_flashattn.csv.gz": 4,
    "csv/european_locale_2025.1_windows.csv.gz": 2,
    "csv/noise_terminated_before_instrumented_then_csv.csv.gz": 1,
    "csv/nsightful_t4_base_units_thousands.csv.gz": 1,
    "csv/prof_lines_then_header.csv.gz": 2,
    "csv/rtx4090_reduceInteger.csv.gz": 9,
    "csv/rtx5090_details.csv.gz": 1,
  };
  test.skipIf(samples === null).each(Object.entries(counts))("in the public sample %s", async (file, kernels) => {
    const path = join(samples ?? "", file);
    const names = file.startsWith("timelines/") ? (await timelineOf(path)).names : await reportNames(path);
    expect(disagreeing(names)).toStrictEqual([]);
    expect(keysOf(names)).toBe(kernels);
  });
});

test("20,000 names a second", async () => {
  const { names } = await timelineOf(fixturePath("timelines/h200-pipeline.nsys.sqlite.gz"));
  const start = performance.now();
  let count = 0;
  // A slow machine under load is given five times as long.
  for (; count < 20_000; count += names.length) for (const one of names) nameKey(one);
  expect(performance.now() - start).toBeLessThan(5_000);
});

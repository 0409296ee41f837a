import { describe, expect, test } from "vitest";
import { CATALOGUE, findGpu, parseCatalogue } from "../../src/hardware/catalogue.ts";
import { allocationUnits, smLimits } from "../../src/hardware/limits.ts";

const byName = (name: string): string | null =>
  findGpu({ name, compute_capability: null, sm_count: null })?.entry.id ?? null;

/** Device names as drivers report them, and the entry each must find: variants before plain names, no name in another. */
const NAMES: Readonly<Record<string, string | null>> = {
  "NVIDIA GB300": "gb300",
  "NVIDIA B300 SXM6 AC": "b300",
  "NVIDIA GB200": "gb200",
  "NVIDIA B200": "b200",
  "NVIDIA GH200 144G HBM3e": "gh200-144gb",
  "NVIDIA GH200 480GB": "gh200",
  "NVIDIA H200 NVL": "h200-nvl",
  "NVIDIA H200": "h200",
  "NVIDIA H100 NVL": "h100-nvl",
  "NVIDIA H100 PCIe": "h100-pcie",
  "NVIDIA H100 80GB HBM3": "h100-sxm",
  "NVIDIA H800": "h800",
  "NVIDIA H20-3e": "h20-141gb",
  "NVIDIA H20": "h20",
  "NVIDIA A100 80GB PCIe": "a100-80gb-pcie",
  "NVIDIA A100-SXM4-80GB": "a100-80gb-sxm",
  "NVIDIA A100-SXM4-40GB": "a100-40gb-sxm",
  "NVIDIA A100-PCIE-40GB": "a100-40gb-pcie",
  "A100-PCIE-40GB": "a100-40gb-pcie",
  "NVIDIA A100": "a100",
  "NVIDIA A800-SXM4-80GB": "a800",
  "NVIDIA A30": "a30",
  "NVIDIA A40": "a40",
  "NVIDIA A10G": "a10g",
  "NVIDIA A10": "a10",
  "NVIDIA L40S": "l40s",
  "NVIDIA L40": "l40",
  "NVIDIA L4": "l4",
  "NVIDIA RTX 6000 Ada Generation": "rtx-6000-ada",
  "NVIDIA RTX PRO 6000 Blackwell Server Edition": "rtx-pro-6000-server",
  "NVIDIA RTX PRO 6000 Blackwell Workstation Edition": "rtx-pro-6000",
  "NVIDIA GeForce RTX 5090": "rtx-5090",
  "NVIDIA GeForce RTX 4090": "rtx-4090",
  "NVIDIA GeForce RTX 3090": "rtx-3090",
  "NVIDIA GeForce RTX 3070": "rtx-3070",
  "Tesla T4": "t4",
  "Tesla V100-PCIE-32GB": "v100-pcie",
  "Tesla V100-SXM2-16GB": "v100",
  "NVIDIA Thor": "thor",
  "NVIDIA GB10": "gb10",
  "NVIDIA GeForce GTX 1660 Ti": null,
  "AMD Instinct MI300X": null,
};

describe("finding a GPU", () => {
  test.each(Object.entries(NAMES))("%s", (name, id) => {
    expect(byName(name)).toBe(id);
  });

  test("every entry is found by some name", () => {
    expect(new Set(Object.values(NAMES).filter((id) => id !== null))).toStrictEqual(
      new Set(CATALOGUE.map(({ id }) => id)),
    );
  });

  test("checks compute capability and SM count", () => {
    const device = { name: "NVIDIA H200", compute_capability: "9.0", sm_count: 132 };
    expect(findGpu(device)?.mismatch).toBeNull();
    expect(findGpu({ ...device, compute_capability: "10.0" })?.mismatch).toContain("10.0");
    expect(findGpu({ ...device, sm_count: 16 })?.mismatch).toContain("16 SMs");
    // Sheets name 148 or 152 SMs of the same product.
    expect(findGpu({ name: "NVIDIA B200", compute_capability: "10.0", sm_count: 152 })?.mismatch).toBeNull();
  });

  test("knows Thor under the compute capability it had before CUDA 13", () => {
    expect(findGpu({ name: "NVIDIA Thor", compute_capability: "10.1", sm_count: 20 })?.mismatch).toBeNull();
    expect(smLimits("10.1")).toStrictEqual(smLimits("11.0"));
  });

  test("says nothing of a device without a name", () => {
    expect(findGpu({ name: null, compute_capability: "9.0", sm_count: 132 })).toBeNull();
  });
});

describe("the catalogue", () => {
  test("holds a source for each number, peaks above 0, FP8 not below FP16", () => {
    expect(parseCatalogue(CATALOGUE)).toMatchObject({ ok: true });
    for (const entry of CATALOGUE) {
      const figures = [...Object.values(entry.peaks_dense), entry.hbm_bandwidth, entry.sm_count];
      for (const figure of figures) expect(figure.source.length, entry.id).toBeGreaterThan(3);
    }
  });

  test("agrees with the limits of the compute capability", () => {
    for (const entry of CATALOGUE) {
      const limits = smLimits(entry.compute_capability);
      expect(limits, entry.id).not.toBeNull();
      expect(entry.max_warps_per_sm.value, entry.id).toBe(limits?.max_warps_per_sm);
      expect(entry.max_blocks_per_sm.value, entry.id).toBe(limits?.max_blocks_per_sm);
      expect(entry.shared_memory_per_sm_bytes.value, entry.id).toBe(limits?.shared_memory_per_sm_bytes);
      expect(entry.registers_per_sm.value, entry.id).toBe(limits?.registers_per_sm);
    }
  });

  test("keeps claims apart: 2.4 TB/s stands beside the published bandwidth of a B300", () => {
    const b300 = CATALOGUE.find(({ id }) => id === "b300")!;
    expect(b300.hbm_bandwidth.value).toBe(7.7e12);
    expect(b300.claimed).toMatchObject({ hbm_bandwidth: { value: 2.4e12 } });
  });
});

describe("loading", () => {
  const entry = () => structuredClone(CATALOGUE[0]!) as unknown as Record<string, Record<string, unknown>>;
  const problem = (change: (copy: Record<string, Record<string, unknown>>) => void): string => {
    const copy = entry();
    change(copy);
    const result = parseCatalogue([copy]);
    return result.ok ? "" : result.error;
  };

  test("refuses a number without a source", () => {
    expect(problem((copy) => delete copy.sm_count!.source)).toContain("sm_count has no source");
  });
  test("refuses a peak of 0", () => {
    expect(problem((copy) => Object.assign(copy.peaks_dense!.fp16!, { value: 0 }))).toContain("unknown is null");
  });
  test("refuses FP8 below FP16", () => {
    expect(problem((copy) => Object.assign(copy.peaks_dense!.fp8!, { value: 1 }))).toContain("below fp16");
  });
  test("refuses a missing figure and a broken pattern", () => {
    expect(problem((copy) => delete copy.l2_bytes)).toContain("l2_bytes");
    expect(problem((copy) => Object.assign(copy, { match: ["("] }))).toContain("no regular expression");
  });
  test("refuses an id that stands twice, and what is no list", () => {
    expect(parseCatalogue([entry(), entry()])).toMatchObject({ ok: false, error: expect.stringContaining("twice") });
    expect(parseCatalogue({})).toMatchObject({ ok: false });
  });
});

test("allocation units: shared memory in 256 bytes on 7.x, 128 from 8.0 on, unknown elsewhere", () => {
  expect(allocationUnits("7.5")?.shared_memory_unit_bytes).toBe(256);
  expect(allocationUnits("8.0")?.shared_memory_unit_bytes).toBe(128);
  expect(allocationUnits("12.1")?.shared_memory_unit_bytes).toBe(128);
  expect(allocationUnits("6.1")).toBeNull();
  expect(allocationUnits("13.0")).toBeNull();
  expect(allocationUnits(null)).toBeNull();
  expect(smLimits("6.1")).toBeNull();
});

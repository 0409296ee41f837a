import { describe, expect, it } from "vitest";
import { rooflineSvg } from "../../src/charts/roofline.ts";
import { rooflineModel } from "../../src/charts/roofline-model.ts";
import type { KernelEntry, ProfileResult } from "../../src/model/result.ts";
import { kernelEntry, kernelResult, pipelineResult } from "../helpers/result.ts";
import { elements, parseXml, type XmlElement } from "../helpers/xml.ts";

const DRAM = 4.8e12;
const BF16 = 1000;

/** A kernel with a place: `intensity` operations per byte at `tflops` under a bf16 peak. */
function placed(
  name: string,
  intensity: number,
  tflops: number,
  share: number,
  peak = BF16,
  estimated = false,
): KernelEntry {
  const base = kernelEntry({
    target: name,
    roofline: "memory-bound",
    tflops,
    memory_bw_utilization: (tflops * 1e12) / intensity / DRAM,
  });
  return {
    ...base,
    detail: {
      ...base.detail,
      limiter: "dram",
      dominant_precision: "bf16",
      tflops_by_precision: { bf16: tflops },
      peak_tflops_by_precision: {
        bf16: { tflops: peak, source: estimated ? "catalogue" : "launch_counters", estimated, citation: null },
      },
      arithmetic_intensity_flop_per_byte: intensity,
      share_of_report: share,
      memory: {
        ...base.detail.memory,
        dram_bytes_per_s: (tflops * 1e12) / intensity,
        peak_dram_bytes_per_s: DRAM,
        peak_dram_source: estimated ? "catalogue" : "launch_counters",
      },
    },
  };
}

const integerOnly = (name: string): KernelEntry =>
  kernelEntry(
    { target: name, roofline: "latency-bound", memory_bw_utilization: 0.017 },
    { tflops_by_precision: {}, share_of_report: 0.01, null_reasons: { tflops: "no floating-point work" } },
  );

const draw = (result: ProfileResult): XmlElement => parseXml(rooflineSvg(result));
const all = (root: XmlElement, name: string): XmlElement[] => [...elements(root)].filter((one) => one.name === name);
const texts = (root: XmlElement): string[] => all(root, "text").map(({ text }) => text);

describe("rooflineSvg", () => {
  it("draws what the golden file shows", async () => {
    const result = pipelineResult([
      placed("gemm", 800, 820, 0.6, 880),
      placed("add<8, float>", 0.5, 2.2, 0.3),
      integerOnly("topk"),
    ]);
    await expect(rooflineSvg(result)).toMatchFileSnapshot("../golden/roofline-small.svg");
  });

  it("gives the same bytes for the same result", () => {
    const result = pipelineResult([placed("a", 10, 30, 0.5), placed("b", 10, 30, 0.5)]);
    expect(rooflineSvg(result)).toBe(rooflineSvg(structuredClone(result)));
  });

  it("names itself for screen readers, with every kernel in the description", () => {
    const root = draw(pipelineResult([placed("gemm", 800, 820, 0.6), integerOnly("topk")]));
    expect(root.attributes).toMatchObject({ role: "img", "aria-labelledby": "roofline-title roofline-desc" });
    const title = all(root, "title").find(({ attributes }) => attributes.id === "roofline-title");
    const desc = all(root, "desc").find(({ attributes }) => attributes.id === "roofline-desc");
    expect(title?.text).toBe("Roofline · all kernels · NVIDIA H200");
    expect(desc?.text).toContain("1 gemm: memory-bound, 820 TFLOP/s bf16 at 800 FLOP/byte");
    expect(desc?.text).toContain("2 topk: latency-bound, not placed, no floating-point work");
  });

  it("has dark colours for readers whose system is dark", () => {
    const [style] = all(draw(pipelineResult([placed("gemm", 800, 820, 0.6)])), "style");
    expect(style?.text).toMatch(/@media \(prefers-color-scheme:dark\)\{\.pk-ground\{fill:#14171c\}/);
  });

  it("names no font of a host and loads nothing", () => {
    const svg = rooflineSvg(pipelineResult([placed("gemm", 800, 820, 0.6)]));
    expect([...svg.matchAll(/font-family="([^"]*)"/g)].map(([, family]) => family)).toEqual(["sans-serif"]);
    expect(svg).not.toMatch(/href|url\(|@import|<script|<image|<foreignObject/);
  });

  it("lists a kernel without floating-point work with its bandwidth, and places it nowhere", () => {
    const root = draw(pipelineResult([placed("gemm", 800, 820, 0.6), integerOnly("topk")]));
    expect(all(root, "circle").filter(({ attributes }) => attributes["data-rank"] === "2")).toEqual([]);
    expect(texts(root)).toEqual(
      expect.arrayContaining(["Not placed: no floating-point work", "topk", "latency-bound · DRAM 1.7%"]),
    );
  });

  it("gives the report's reason for a kernel whose operations were not counted", () => {
    const uncounted = kernelEntry({ target: "lean" }, { null_reasons: { tflops: "operations are not in the report" } });
    expect(texts(draw(pipelineResult([uncounted])))).toContain("Not placed: operations are not in the report");
  });

  it("draws published peaks dashed and says that they are published", () => {
    const root = draw(pipelineResult([placed("gemm", 800, 820, 0.6, BF16, true)]));
    const roofs = all(root, "line").filter(
      ({ attributes }) => attributes.class === "pk-roof" && attributes["stroke-width"] === "2",
    );
    expect(roofs.length).toBe(2);
    expect(roofs.every(({ attributes }) => attributes["stroke-dasharray"] !== undefined)).toBe(true);
    expect(texts(root).join("\n")).toMatch(
      /Dashed: published peak, not measured[\s\S]*DRAM 4\.80 TB\/s \(published\)[\s\S]*ridge 208 FLOP\/B, published/,
    );
  });

  it("draws measured peaks solid", () => {
    const svg = rooflineSvg(pipelineResult([placed("gemm", 800, 820, 0.6)]));
    expect(svg).not.toContain("stroke-dasharray");
    expect(svg).not.toContain("published");
  });

  it("takes the roof of the heaviest kernel and shades the range over the others", () => {
    const model = rooflineModel(
      pipelineResult([placed("heavy", 800, 820, 0.6, 880), placed("light", 60, 100, 0.1, 1000)]),
    );
    expect(model.computeRoofs).toEqual([
      { label: "bf16", opsPerSecond: 880e12, lowest: 880e12, highest: 1000e12, estimated: false, path: null, rank: 1 },
    ]);
    const root = draw(pipelineResult([placed("heavy", 800, 820, 0.6, 880), placed("light", 60, 100, 0.1, 1000)]));
    expect(all(root, "rect").filter(({ attributes }) => attributes.class === "pk-band").length).toBe(1);
    expect(texts(root).join(" ")).toContain("shaded where the other kernels' differ");
  });

  it("shows the lower ceiling of the instructions that a kernel uses", () => {
    const entry = placed("decode", 30, 80, 0.5);
    entry.detail.tensor_paths = [
      {
        metric: "sm__ops_path_tensor_op_hmma_src_bf16",
        op: "hmma",
        precision: "bf16",
        sparsity: "off",
        ops_per_s: 80e12,
        peak_ops_per_s: 660e12,
        utilization: 0.12,
      },
    ];
    expect(
      rooflineModel(pipelineResult([entry])).computeRoofs.map(({ opsPerSecond, path }) => [opsPerSecond, path]),
    ).toEqual([
      [1000e12, null],
      [660e12, "mma.sync"],
    ]);
    expect(texts(draw(pipelineResult([entry])))).toContain("mma.sync, ridge 138 FLOP/B");
  });

  it("marks one kernel at L2 too, under the roof of L2", () => {
    const entry = placed("moe", 65, 278, 0.2);
    entry.detail.memory.levels = [
      {
        level: "l2",
        bytes_per_s: 6.1e12,
        peak_bytes_per_s: 10.3e12,
        utilization: 0.59,
        hit_rate: 0.26,
        arithmetic_intensity_flop_per_byte: 45.6,
      },
    ];
    const root = draw(kernelResult(entry));
    expect(all(root, "path").map(({ attributes }) => attributes["data-level"])).toEqual(["l2"]);
    expect(texts(root)).toContain("L2 10.3 TB/s");
    expect(all(draw(pipelineResult([entry])), "path")).toEqual([]);
  });

  it("draws axes and says why where nothing can be placed", () => {
    const root = draw(pipelineResult([integerOnly("topk")]));
    expect(all(root, "circle").filter(({ attributes }) => "data-rank" in attributes)).toEqual([]);
    expect(texts(root)).toContain("Not placed: no floating-point work");
    expect(draw(pipelineResult([])).name).toBe("svg");
  });

  it("draws a point over its roof where the counters say so", () => {
    const root = draw(pipelineResult([placed("over", 800, 1030, 0.6)]));
    const [point] = all(root, "circle").filter(({ attributes }) => attributes["data-rank"] === "1");
    expect(Number(point?.attributes.cy)).toBeLessThan(roofHeight(root));
  });

  it("shows hostile names as text", () => {
    const name = "</title><script>alert`1`</script>\"'&\u001b[2J\u202e<<<";
    const root = draw(pipelineResult([placed(name, 800, 820, 0.6), { ...integerOnly(name) }]));
    expect(all(root, "script")).toEqual([]);
    expect(
      all(root, "title").some(({ text }) => text.includes("</title><script>alert`1`</script>\"'&\\u{1b}[2J\\u{202e}")),
    ).toBe(true);
  });

  it("stays readable with a thousand kernels", () => {
    const many = Array.from({ length: 1000 }, (_, i) => placed(`kernel_${i}`, 1 + i, 1 + i / 2, 0.001));
    const root = draw(pipelineResult(many));
    expect(all(root, "circle").filter(({ attributes }) => "data-rank" in attributes).length).toBe(1000);
    expect(texts(root)).toContain("and 960 more");
    expect(Number(root.attributes.height)).toBeLessThan(1200);
  });
});

/** y of the first strong horizontal roof. */
function roofHeight(root: XmlElement): number {
  const roof = all(root, "line").find(({ attributes: at }) => at["stroke-width"] === "2" && at.y1 === at.y2);
  return Number(roof?.attributes.y1);
}

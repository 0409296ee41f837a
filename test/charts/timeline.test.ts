import { describe, expect, it } from "vitest";
import { analyzeTimelines } from "../../src/analysis/index.ts";
import { timelineSvg } from "../../src/charts/timeline.ts";
import type { PipelineResult, ProfileResult } from "../../src/model/result.ts";
import type { Timeline } from "../../src/model/timeline.ts";
import { fixturePath } from "../helpers/fixtures.ts";
import { kernelEntry, kernelResult, pipelineResult } from "../helpers/result.ts";
import { readTimelineFixture } from "../helpers/timeline-fixtures.ts";
import { madeTimeline } from "../helpers/timelines.ts";
import { elements, parseXml, type XmlElement } from "../helpers/xml.ts";

const resultOf = (...timelines: Timeline[]): ProfileResult => {
  const inputs = timelines.map((timeline) => ({ timeline, id: null, sha256: null }));
  const result = analyzeTimelines(inputs, [], { target: "full pipeline" });
  if (!result.ok) throw new Error(result.error.message);
  return result.value;
};
const all = (root: XmlElement, name: string): XmlElement[] => [...elements(root)].filter((one) => one.name === name);
const texts = (root: XmlElement): string[] => all(root, "text").map(({ text }) => text);

const SMALL = madeTimeline({
  rows: [
    { name: "nvjet_tst_64x8", at: 0, us: 3000 },
    { name: "fused_moe_kernel", at: 3000, us: 2000 },
    { name: "ncclDevKernel_AllReduce", at: 4000, us: 3000, stream: "9" },
    { name: "nvjet_tst_64x8", at: 27000, us: 3000 },
  ],
});

describe("timelineSvg", () => {
  it("draws what the golden file shows", async () => {
    await expect(timelineSvg(resultOf(SMALL))).toMatchFileSnapshot("../golden/timeline-small.svg");
  });

  it("gives the same bytes for the same result", () => {
    const result = resultOf(SMALL);
    expect(timelineSvg(result)).toBe(timelineSvg(structuredClone(result)));
  });

  it("has a lane for each stream with its busy share, families in words, and all of it for screen readers", () => {
    const root = parseXml(timelineSvg(resultOf(SMALL)));
    expect(texts(root)).toEqual(
      expect.arrayContaining([
        "GPU 0 · stream 7",
        "busy 26.7%",
        "GPU 0 · stream 9",
        "busy 10.0%",
        "comm",
        "gemm",
        "moe: moe_expert",
      ]),
    );
    expect(root.attributes).toMatchObject({ role: "img", "aria-labelledby": "timeline-title timeline-desc" });
    expect(all(root, "desc")[0]?.text).toContain("GPU 0 · stream 9: moe 0 ms, gemm 0 ms, comm 3.00 ms");
  });

  it("names the longest gaps of a single lane", () => {
    const alone = madeTimeline({
      rows: [
        { name: "nvjet_tst_64x8", at: 0, us: 3000 },
        { name: "nvjet_tst_64x8", at: 27000, us: 3000 },
      ],
    });
    expect(texts(parseXml(timelineSvg(resultOf(alone))))).toContain("idle 24.0 ms");
  });

  it("is as small for many launches as for few", () => {
    let seed = 7;
    const random = (): number => {
      seed = (seed * 48271) % 2147483647;
      return seed / 2147483647;
    };
    const NAMES = ["nvjet_tst_64x8", "fused_moe_kernel", "rms_norm_kernel", "argmax_kernel", "ncclDevKernel_AllReduce"];
    const rows = Array.from({ length: 50_000 }, (_, at) => ({
      name: NAMES[Math.floor(random() * NAMES.length)] ?? "",
      at: at * 10,
      us: 1 + random() * 8,
      stream: String(Math.floor(random() * 3)),
    }));
    const svg = timelineSvg(resultOf(madeTimeline({ rows })));
    expect(svg.length).toBeLessThan(200_000);
    expect(parseXml(svg).attributes.width).toBe("800");
  });

  it("draws the recording of the H200 with every number finite and inside", async () => {
    const root = parseXml(
      timelineSvg(resultOf(await readTimelineFixture(fixturePath("timelines/h200-pipeline.nsys.sqlite.gz")))),
    );
    for (const { attributes } of elements(root)) {
      for (const value of Object.values(attributes)) expect(value).not.toMatch(/NaN|Infinity|undefined|null/);
    }
    for (const { attributes } of all(root, "rect")) {
      expect(Number(attributes.x ?? 0) + Number(attributes.width)).toBeLessThanOrEqual(800);
    }
  });

  it("says why there is nothing to draw", () => {
    const none: PipelineResult = pipelineResult([]);
    expect(texts(parseXml(timelineSvg(none)))).toContain("Not known: the profile has no timeline.");
    expect(texts(parseXml(timelineSvg(kernelResult(kernelEntry())))).join(" ")).toContain("of one kernel");
  });

  it("shows hostile names of streams as text", () => {
    const hostile = madeTimeline({ rows: [{ name: "k", at: 0, us: 10, stream: '"><script>\u202e' }] });
    expect(all(parseXml(timelineSvg(resultOf(hostile))), "script")).toEqual([]);
  });
});

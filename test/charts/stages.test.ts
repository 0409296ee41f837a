import { describe, expect, it } from "vitest";
import { stagesSvg } from "../../src/charts/stages.ts";
import type { PipelineResult } from "../../src/model/result.ts";
import { kernelEntry, kernelResult, pipelineResult, timelineSummary } from "../helpers/result.ts";
import { elements, parseXml, type XmlElement } from "../helpers/xml.ts";

const stage = (name: string, family: string, share: number, total_us: number) => ({
  stage: name,
  family,
  share,
  total_us,
});
const STAGES = [
  stage("moe_expert", "moe", 0.6, 600),
  stage("gemm", "gemm", 0.37, 370),
  stage("sampling", "sampling", 0.03, 30),
];
const result = (rest: Partial<PipelineResult> = {}): PipelineResult =>
  pipelineResult([], { gpu_busy_us: 1000, gpu_idle_us: 3000, span_us: 4000, stages: STAGES, ...rest });

const all = (root: XmlElement, name: string): XmlElement[] => [...elements(root)].filter((one) => one.name === name);
const texts = (root: XmlElement): string[] => all(root, "text").map(({ text }) => text);
const segment = (root: XmlElement, name: string): number =>
  Number(all(root, "rect").find(({ attributes }) => attributes["data-stage"] === name)?.attributes.width);

describe("stagesSvg", () => {
  it("draws what the golden file shows", async () => {
    await expect(stagesSvg(result())).toMatchFileSnapshot("../golden/stages-small.svg");
  });

  it("gives the same bytes for the same result", () => {
    expect(stagesSvg(result())).toBe(stagesSvg(structuredClone(result())));
  });

  it("has lengths in proportion, idle time in a bar of its own", () => {
    const root = parseXml(stagesSvg(result()));
    expect((segment(root, "moe_expert") + 1) / (segment(root, "gemm") + 1)).toBeCloseTo(0.6 / 0.37, 3);
    expect((segment(root, "idle") + 1) / (segment(root, "busy") + 1)).toBeCloseTo(3, 3);
  });

  it("says every stage with share and milliseconds in words, in the picture and to screen readers", () => {
    const root = parseXml(stagesSvg(result()));
    expect(texts(root)).toEqual(expect.arrayContaining(["moe_expert", "60.0%", "0.600", "sampling", "3.0%", "0.0300"]));
    expect(root.attributes).toMatchObject({ role: "img", "aria-labelledby": "stages-title stages-desc" });
    expect(all(root, "desc")[0]?.text).toBe(
      "Busy 1.00 ms, idle 3.00 ms. Of the busy time: moe_expert 60.0%, 0.600 ms; gemm 37.0%, 0.370 ms; sampling 3.0%, 0.0300 ms.",
    );
  });

  it("stays inside the picture where shares of several streams add up to more than all", () => {
    const root = parseXml(stagesSvg(result({ stages: [...STAGES, stage("comm", "comm", 0.5, 500)] })));
    for (const { attributes } of all(root, "rect").filter(({ attributes: at }) => "data-stage" in at)) {
      expect(Number(attributes.x) + Number(attributes.width)).toBeLessThanOrEqual(776);
    }
    expect(texts(root).join("\n")).toContain("the shares add up to 150.0%");
  });

  it("says why there is no idle time, no stage, or no pipeline", () => {
    const noIdle = result({ gpu_idle_us: null, null_reasons: { gpu_idle_us: "rows are missing" } });
    expect(texts(parseXml(stagesSvg(noIdle)))).toContain("Idle time is not known: rows are missing");
    const none = result({ stages: null, null_reasons: { stages: "no timeline <was> given" } });
    expect(texts(parseXml(stagesSvg(none)))).toContain("Not known: no timeline <was> given.");
    expect(texts(parseXml(stagesSvg(kernelResult(kernelEntry())))).join(" ")).toContain("of one kernel");
  });

  it("sets the busy time of several GPUs against the spans of all of them", () => {
    const noteOf = (wall_us: number) => texts(parseXml(stagesSvg(result({ timeline: timelineSummary({ wall_us }) }))));
    expect(noteOf(8000).join("\n")).toContain("busy for 1.00 ms in spans of 8.00 ms in all.");
    expect(noteOf(4000).join("\n")).toContain("busy for 1.00 ms in a span of 4.00 ms.");
  });

  it("has a colour for a stage of another version", () => {
    const root = parseXml(stagesSvg(result({ stages: [stage("__proto__", "new", 1, 1000)] })));
    expect(all(root, "rect").some(({ attributes }) => attributes.class === "pk-of-other")).toBe(true);
  });
});

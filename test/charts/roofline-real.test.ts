import { readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { rooflineSvg } from "../../src/charts/roofline.ts";
import { type RooflineModel, type RoofPoint, rooflineModel } from "../../src/charts/roofline-model.ts";
import type { ProfileResult } from "../../src/model/result.ts";
import { analysisInput, resultOf } from "../helpers/analysis.ts";
import { fixturePath, H200 } from "../helpers/fixtures.ts";
import { elements, parseXml, type XmlElement } from "../helpers/xml.ts";

const REPORTS = readdirSync(fixturePath(H200)).filter((name) => /\.(ncu-rep|csv)\.gz$/.test(name));
/** Every report as a whole, and each of its kernels by itself. */
const resultsOf = async (name: string): Promise<ProfileResult[]> => {
  const input = await analysisInput(fixturePath(`${H200}${name}`));
  const whole = resultOf([input], "full pipeline", 1000);
  if (whole.kind !== "pipeline") throw new Error("no pipeline");
  return [whole, ...whole.kernels.map(({ detail }) => resultOf([input], detail.names.display))];
};

/** Pixels; a point may reach over the line of another kernel's clock by what clocks differ. */
const CLOCKS_DIFFER = 2;
const circlesOf = (root: XmlElement): XmlElement[] =>
  [...elements(root)].filter(({ attributes }) => "data-rank" in attributes);
const number = (element: XmlElement, name: string): number => Number(element.attributes[name]);

describe.each(REPORTS)("the roofline of %s", (name) => {
  it("is a document, with every number finite", async () => {
    for (const result of await resultsOf(name)) {
      const root = parseXml(rooflineSvg(result));
      expect(root.attributes.role).toBe("img");
      for (const { attributes } of elements(root)) {
        for (const value of Object.values(attributes)) expect(value).not.toMatch(/NaN|Infinity|undefined|null/);
      }
    }
  });

  it("has a place or a reason for each kernel", async () => {
    for (const result of await resultsOf(name)) {
      const { points, unplaced } = rooflineModel(result);
      const ranks = [...points, ...unplaced].map(({ rank }) => rank).sort((a, b) => a - b);
      expect(ranks).toEqual(
        Array.from({ length: result.kind === "pipeline" ? result.kernels.length : 1 }, (_, i) => i + 1),
      );
      for (const { why } of unplaced) expect(why).not.toBe("");
    }
  });

  it("places each kernel under its roofs", async () => {
    for (const result of await resultsOf(name)) {
      const model = rooflineModel(result);
      for (const point of model.points) {
        expect(point.opsPerSecond).toBeLessThanOrEqual(attainable(model, point) * 1.001);
        if (point.l2Intensity !== null) {
          const l2 = model.bandwidthRoofs.find(({ level }) => level === "l2");
          expect(point.opsPerSecond / point.l2Intensity).toBeLessThanOrEqual((l2?.highest ?? 0) * 1.001);
        }
      }
    }
  });

  it("draws each circle inside the plot and below the lines", async () => {
    for (const result of await resultsOf(name)) {
      const model = rooflineModel(result);
      const root = parseXml(rooflineSvg(result));
      const circles = circlesOf(root);
      expect(circles.length).toBe(model.points.length);
      const slant = [...elements(root)].find(
        ({ attributes: at }) => at["stroke-width"] === "2" && at.x1 !== at.x2 && at.y1 !== at.y2,
      );
      for (const circle of circles) {
        const [cx, cy] = [number(circle, "cx"), number(circle, "cy")];
        expect(cx > 66 && cx < 804 && cy > 84 && cy < 524, `${cx} ${cy}`).toBe(true);
        if (slant === undefined) continue;
        const [x1, y1, x2, y2] = ["x1", "y1", "x2", "y2"].map((key) => number(slant, key)) as [
          number,
          number,
          number,
          number,
        ];
        const roof = cx > x2 ? y2 : y1 + ((cx - x1) / (x2 - x1)) * (y2 - y1);
        expect(cy).toBeGreaterThanOrEqual(roof - CLOCKS_DIFFER);
      }
    }
  });
});

describe("the roofline of the H200 report", () => {
  it("has the roofs of the precisions that its kernels use, at the clocks of the heaviest", async () => {
    const model = rooflineModel(
      resultOf([await analysisInput(fixturePath(`${H200}h200-full.ncu-rep.gz`))], "full pipeline", 1000),
    );
    expect(
      model.computeRoofs.map(({ label, path, rank, opsPerSecond }) => [
        label,
        path,
        rank,
        Math.round(opsPerSecond / 1e11) / 10,
      ]),
    ).toEqual([
      ["fp8", null, 5, 1634.2],
      ["bf16", null, 2, 874.2],
      ["bf16", "mma.sync", 9, 642.3],
      ["fp32", null, 1, 66.7],
    ]);
    expect(
      model.bandwidthRoofs.map(({ level, bytesPerSecond }) => [level, Math.round(bytesPerSecond / 1e10) / 100]),
    ).toEqual([
      ["l1", 33.33],
      ["l2", 10.25],
      ["dram", 4.81],
    ]);
    expect(model.unplaced.map(({ name, why }) => [name.replace(/<.*/, ""), why])).toEqual([
      ["gatherTopK", "no floating-point work beside moves"],
      ["index_elementwise_kernel", "no floating-point work beside moves"],
      ["bitonicSortKVInPlace", "no floating-point work beside moves"],
      ["elementwise_kernel_with_index", "no floating-point work beside moves"],
    ]);
  });

  it("does not call uncounted work no work", async () => {
    const model = rooflineModel(
      resultOf([await analysisInput(fixturePath(`${H200}h200-sections.ncu-rep.gz`))], "full pipeline", 1000),
    );
    expect(new Set(model.unplaced.map(({ why }) => why))).toEqual(
      new Set(["operations were not counted for fp32, fp64, fp16_vector"]),
    );
  });
});

function attainable(model: RooflineModel, point: RoofPoint): number {
  const dense = model.computeRoofs
    .filter(({ label, path }) => path === null && label.split(", ").includes(point.precision.replaceAll("_", " ")))
    .map(({ highest }) => highest);
  const dram = model.bandwidthRoofs
    .filter(({ level }) => level === "dram")
    .map(({ highest }) => highest * point.intensity);
  return Math.min(...dense, ...dram);
}

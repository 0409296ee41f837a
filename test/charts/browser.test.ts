import { fileURLToPath } from "node:url";
import { createContext, runInContext } from "node:vm";
import { build } from "esbuild";
import { describe, expect, it } from "vitest";
import { rooflineSvg } from "../../src/charts/roofline.ts";
import { analysisInput, resultOf } from "../helpers/analysis.ts";
import { fixturePath, H200 } from "../helpers/fixtures.ts";

describe("the chart code", () => {
  it("draws the same picture without Node", async () => {
    const built = await build({
      entryPoints: [fileURLToPath(new URL("../../src/charts/roofline.ts", import.meta.url))],
      bundle: true,
      minify: true,
      write: false,
      platform: "browser",
      format: "iife",
      globalName: "charts",
    });
    const code = built.outputFiles[0]?.text ?? "";
    expect(code).toContain("rooflineSvg");
    expect(code.length).toBeLessThan(100_000);
    const result = resultOf([await analysisInput(fixturePath(`${H200}h200-full.ncu-rep.gz`))]);
    // A context has the language and nothing of its host: no process, Buffer, require, URL, TextEncoder.
    const context = createContext({ json: JSON.stringify(result) });
    runInContext(code, context);
    expect(runInContext("charts.rooflineSvg(JSON.parse(json))", context)).toBe(rooflineSvg(result));
  });
});

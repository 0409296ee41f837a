import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { type AnalysisInput, analyze } from "../../src/analysis/index.ts";
import type { ProfileResult } from "../../src/model/result.ts";
import { inputFrom } from "./verdicts.ts";

/** A report as the command line and the service hand it to the analysis. */
export async function analysisInput(path: string): Promise<AnalysisInput> {
  return { ...(await inputFrom(path)), sha256: createHash("sha256").update(readFileSync(path)).digest("hex") };
}

/** The result for a target, or what went wrong as an error. */
export function resultOf(inputs: readonly AnalysisInput[], target = "full pipeline", topN?: number): ProfileResult {
  const analyzed = analyze(inputs, topN === undefined ? { target } : { target, topN });
  if (!analyzed.ok) throw new Error(analyzed.error.message);
  return analyzed.value;
}

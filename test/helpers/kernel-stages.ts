import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Stage } from "../../src/model/words.ts";

/** A name of test/fixtures/kernel-stages.tsv with its label. */
export interface LabelledName {
  readonly name: string;
  readonly library: string;
  readonly stage: Stage;
  /** Labels that count as right too: those behind `alt=` in the remark. */
  readonly alternatives: readonly string[];
}

export function labelledNames(): LabelledName[] {
  const lines = readFileSync(new URL("../fixtures/kernel-stages.tsv", import.meta.url), "utf8")
    .split("\n")
    .slice(1);
  return lines
    .filter((line) => line !== "")
    .map((line) => {
      const [name = "", library = "", , stage, , remark = ""] = line.split("\t");
      const alternatives = /\balt=([\w/]+)/.exec(remark)?.[1]?.split("/") ?? [];
      return { name, library, stage: stage as Stage, alternatives };
    });
}

/**
 * Libraries that were set aside before the rules were written: in the order of the SHA-256 of their names each that fits
 * into a fifth of the rows.
 */
export function heldOutLibraries(names: readonly LabelledName[]): Set<string> {
  const rows = new Map<string, number>();
  for (const { library } of names) rows.set(library, (rows.get(library) ?? 0) + 1);
  const order = (library: string): string => createHash("sha256").update(library).digest("hex");
  const held = new Set<string>();
  let taken = 0;
  for (const [library, count] of [...rows].sort((a, b) => (order(a[0]) < order(b[0]) ? -1 : 1))) {
    if (taken + count > names.length / 5) continue;
    taken += count;
    held.add(library);
  }
  return held;
}

import { describe, expect, it } from "vitest";
import { stageOf } from "../../../src/analysis/stages/index.ts";
import { FAMILIES, FAMILY_OF_STAGE, STAGES } from "../../../src/model/words.ts";
import { heldOutLibraries, type LabelledName, labelledNames } from "../../helpers/kernel-stages.ts";

const names = labelledNames();

function rightOf(rows: readonly LabelledName[]): { share: number; wrong: string[] } {
  const wrong = rows
    .map((row) => ({ ...row, match: stageOf(row.name) }))
    .filter(({ match, stage, alternatives }) => match.stage !== stage && !alternatives.includes(match.stage))
    .map(({ name, stage, match }) => `${stage} <> ${match.stage} by ${match.rule}: ${name.slice(0, 120)}`);
  return { share: 1 - wrong.length / rows.length, wrong };
}

describe("the catalogue of kernel names", () => {
  it("has only labels of the closed list", () => {
    expect(names).toHaveLength(711);
    for (const { stage, alternatives } of names) {
      for (const label of [stage, ...alternatives]) expect(STAGES).toContain(label);
    }
    expect(new Set(STAGES.map((stage) => FAMILY_OF_STAGE[stage]))).toEqual(new Set(FAMILIES));
  });

  it("is right for at least 98 % of all names", () => {
    const { share, wrong } = rightOf(names);
    expect(share, wrong.join("\n")).toBeGreaterThanOrEqual(0.98);
  });

  it("is right for at least 93 % of the libraries that were set aside before the rules were written", () => {
    const held = heldOutLibraries(names);
    const rows = names.filter(({ library }) => held.has(library));
    expect(rows).toHaveLength(142);
    const { share, wrong } = rightOf(rows);
    expect(share, wrong.join("\n")).toBeGreaterThanOrEqual(0.93);
  });

  it("is less sure where another label is defensible or the name is unknown", () => {
    for (const { name } of names) {
      const { stage, confidence, alternatives, rule, family } = stageOf(name);
      expect(confidence, name).toBeGreaterThan(0);
      expect(confidence, name).toBeLessThanOrEqual(0.95);
      expect(alternatives, name).not.toContain(stage);
      expect(family).toBe(FAMILY_OF_STAGE[stage]);
      expect(rule, name).toMatch(/^[a-z0-9-]+(\.[\w-]+)?$/);
      if (rule.startsWith("unknown")) expect(confidence, name).toBeLessThan(0.2);
    }
  });

  it("is wrong only where it is not sure, as far as it is wrong", () => {
    const sure = names.filter(({ name }) => stageOf(name).confidence >= 0.8);
    expect(sure.length / names.length).toBeGreaterThan(0.6);
    expect(rightOf(sure).share).toBeGreaterThan(0.99);
  });
});

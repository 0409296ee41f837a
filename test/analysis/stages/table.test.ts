import { describe, expect, it } from "vitest";
import { requiredLiterals } from "../../../src/analysis/stages/literals.ts";
import { type Rule, Subject } from "../../../src/analysis/stages/rule.ts";
import { ATEN_FUNCTIONS, ATEN_FUNCTORS, ATEN_SHELL } from "../../../src/analysis/stages/rules/aten.ts";
import { INDUCTOR } from "../../../src/analysis/stages/rules/inductor.ts";
import { NAMESPACES, NAMESPACES_LAST } from "../../../src/analysis/stages/rules/namespaces.ts";
import { PREFIXES } from "../../../src/analysis/stages/rules/prefixes.ts";
import { LAUNCHED_STRUCTURES, STRUCTURES } from "../../../src/analysis/stages/rules/structures.ts";
import { FALL_BACKS, WORDS } from "../../../src/analysis/stages/rules/words.ts";
import { spellingOf } from "../../../src/analysis/stages/spelling.ts";
import { Table } from "../../../src/analysis/stages/table.ts";
import { FAMILY_OF_STAGE } from "../../../src/model/words.ts";
import { labelledNames } from "../../helpers/kernel-stages.ts";

const TABLES: Readonly<Record<string, readonly Rule[]>> = {
  names: [ATEN_SHELL, ...PREFIXES, ...WORDS],
  last: [...NAMESPACES_LAST, ...FALL_BACKS],
  namespaces: NAMESPACES,
  structures: [...STRUCTURES, ...LAUNCHED_STRUCTURES],
  aten: ATEN_FUNCTIONS,
  functors: ATEN_FUNCTORS,
  inductor: INDUCTOR,
};

describe("tables of rules", () => {
  it("name each rule once and only stages of the closed list", () => {
    const rules = Object.values(TABLES).flat();
    expect(new Set(rules.map(({ id }) => id)).size).toBe(rules.length);
    for (const { id, stage, also = [], sure, is } of rules) {
      for (const label of [stage, ...also]) expect(FAMILY_OF_STAGE, id).toHaveProperty(label);
      expect(also, id).not.toContain(stage);
      expect(sure, id).toBeGreaterThan(0);
      expect(sure, id).toBeLessThanOrEqual(0.95);
      expect(is.flags.replace("i", ""), id).toBe("");
    }
  });

  it.each(Object.entries(TABLES))("find in %s what trying one rule after the other finds", (_title, rules) => {
    const table = new Table(rules);
    for (const { name } of labelledNames()) {
      const subject = new Subject(spellingOf(name));
      const slow = rules.find(({ on, is, not }) => is.test(subject.part(on)) && not?.test(subject.part(on)) !== true);
      expect(table.find(subject)?.id, name).toBe(slow?.id);
    }
  });
});

describe("literals that a pattern cannot do without", () => {
  it.each<[RegExp, string[] | null]>([
    [/reduce/, ["reduce"]],
    [/rms_norm|layer_?norm/, ["rmsnorm", "layer"]],
    [/moe\w*(?:combine|sum)/, ["moe"]],
    [/\w*(?:combine|finalize)$/, ["combine", "finalize"]],
    [/^(?:volta|ampere)_.*gemm/, ["volta", "ampere"]],
    [/(?<!pre)fill(?!ed)/, ["fill"]],
    [/abc?def/, ["def"]],
    [/abc+/, ["abc"]],
    [/(?:abc)?de/, null],
    [/w\d+a\d+/, null],
    [/alpha|\d+/, null],
    [/[abc]{3}long/, ["long"]],
    [/GemmType(?:\)|E)[125]/, ["gemmtype"]],
    [/x{0,2}yzw/, ["yzw"]],
  ])("%s", (pattern, expected) => {
    expect(requiredLiterals(pattern)).toEqual(expected);
  });
});

import type { Part, Rule, Subject } from "./rule.ts";

/** Rules that one pattern rules out together; more make that pattern hold too often, fewer save less. */
const TOGETHER = 8;

interface Group {
  readonly on: Part;
  /** Holds where any of the rules may. */
  readonly guard: RegExp;
  readonly rules: readonly Rule[];
}

/** Rules in order. Most names hold few words of any rule, so neighbours are ruled out together. */
export class Table {
  readonly #groups: readonly Group[];

  constructor(rules: readonly Rule[]) {
    const groups: Rule[][] = [];
    for (const rule of rules) {
      const last = groups.at(-1);
      if (last !== undefined && last.length < TOGETHER && last[0]?.on === rule.on) last.push(rule);
      else groups.push([rule]);
    }
    this.#groups = groups.map((members) => ({
      on: (members[0] as Rule).on,
      guard: new RegExp(members.map(({ is }) => `(?:${is.source})`).join("|")),
      rules: members,
    }));
  }

  /** The first rule that holds; null where none does. */
  find(subject: Subject): Rule | null {
    for (const { on, guard, rules } of this.#groups) {
      const text = subject.part(on);
      if (text === "" || !guard.test(text)) continue;
      for (const rule of rules) {
        if ((rules.length === 1 || rule.is.test(text)) && rule.not?.test(text) !== true) return rule;
      }
    }
    return null;
  }
}

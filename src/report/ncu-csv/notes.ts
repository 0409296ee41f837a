import type { Finding } from "../../model/finding.ts";

/** How many examples a finding names. */
const EXAMPLES = 5;

interface Note {
  readonly severity: Finding["severity"];
  readonly say: (count: number, examples: string) => string;
  readonly evidence: Finding["evidence"];
  readonly examples: string[];
  count: number;
}

/** Kinds of unknown units and the like are bounded: what comes after is only counted. */
const MOST = 100;

/** Gathers findings. What happens once a row is counted, with the first examples, and said once. */
export class Notes {
  readonly #notes = new Map<string, Note>();

  /** Counts one more case of a finding; `variant` separates findings of one code. */
  add(
    code: string,
    severity: Finding["severity"],
    example: string,
    say: Note["say"],
    evidence: Finding["evidence"] = {},
    variant = "",
  ): void {
    const key = `${code}|${variant}`;
    let note = this.#notes.get(key);
    if (note === undefined) {
      if (this.#notes.size >= MOST) return;
      note = { severity, say, evidence, examples: [], count: 0 };
      this.#notes.set(key, note);
    }
    note.count++;
    if (note.examples.length < EXAMPLES && !note.examples.includes(example)) note.examples.push(example.slice(0, 200));
  }

  findings(): Finding[] {
    return [...this.#notes].map(([key, note]) => {
      const examples = note.examples.join(", ");
      return {
        code: key.slice(0, key.indexOf("|")),
        severity: note.severity,
        message: note.say(note.count, examples),
        launch: null,
        evidence: { ...note.evidence, count: note.count, examples },
      };
    });
  }
}

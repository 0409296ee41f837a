import type { Finding } from "../../model/finding.ts";

/** Findings of one code that are listed one by one; further ones are counted. */
const LISTED_PER_CODE = 50;

/** Collects findings and keeps their number bounded: a damaged report can repeat one thousands of times. */
export class Findings {
  readonly #listed: Finding[] = [];
  readonly #counts = new Map<string, number>();

  add(finding: Finding): void {
    const count = (this.#counts.get(finding.code) ?? 0) + 1;
    this.#counts.set(finding.code, count);
    if (count <= LISTED_PER_CODE) this.#listed.push(finding);
  }

  /** All findings in the order in which they were made, then one for each code that was cut off. */
  all(): Finding[] {
    const rest = [...this.#counts].filter(([, count]) => count > LISTED_PER_CODE);
    return [
      ...this.#listed,
      ...rest.map(
        ([code, count]): Finding => ({
          code: "findings_not_listed",
          severity: "info",
          message: `${count - LISTED_PER_CODE} further findings with the code ${code} are not listed`,
          launch: null,
          evidence: { code, count },
        }),
      ),
    ];
  }
}

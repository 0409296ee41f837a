import type { Finding } from "../../model/finding.ts";
import type { ReadFailure } from "../../model/report.ts";
import { consoleOutput, namesReport, otherPage, toolTextAt } from "./page.ts";

/** Characters of a line of the tool that are kept. */
const QUOTED = 300;
const MOST_QUOTED = 10;

/** Lines outside of tables: what the tool said, and whether this is another page of it. */
export class Surroundings {
  readonly #errors: string[] = [];
  #errorCount = 0;
  #toolLines = 0;
  #lastWarning: string | null = null;
  #report: string | null = null;
  #other: ReadFailure | null = null;

  /** Takes in a line that is no row. */
  line(text: string): void {
    const start = text.slice(0, 4096);
    this.#other ??= otherPage(start);
    const at = toolTextAt(start);
    if (at >= 0) this.tool(start.slice(at));
  }

  /** Takes in what the tool said, from `==PROF==` and the like on. */
  tool(text: string): void {
    this.#toolLines++;
    const quoted = text.trim().slice(0, QUOTED);
    if (quoted.startsWith("==ERROR==")) {
      this.#errorCount++;
      if (this.#errors.length < MOST_QUOTED) this.#errors.push(quoted);
    } else if (quoted.startsWith("==WARNING==")) this.#lastWarning = quoted;
    else if (namesReport(quoted)) this.#report = quoted;
  }

  get toolSpoke(): boolean {
    return this.#toolLines > 0;
  }

  /** Another page of the tool, by its lines. */
  get otherPage(): ReadFailure | null {
    return this.#other;
  }

  /** Why a file without a table is refused; null where nothing in it is from the tool. */
  get refusal(): ReadFailure | null {
    if (this.#other !== null) return this.#other;
    if (this.#report !== null) return consoleOutput(this.#report);
    if (this.#toolLines === 0) return null;
    const said = this.#errors[0] ?? this.#lastWarning;
    return {
      code: "no_kernels",
      message:
        said === null
          ? "Expected a table of launches, found lines of Nsight Compute and no table: it profiled no kernel, or printed no page."
          : `Expected a table of launches, found none. Nsight Compute said: ${said}`,
      hint: "Look at what ncu said, profile again, and export with: ncu --import REPORT --csv --page raw.",
      evidence: { tool_lines: this.#toolLines, errors: this.#errorCount, said: said ?? "" },
    };
  }

  /** The tool's errors beside launches that were measured. */
  findings(): Finding[] {
    if (this.#errorCount === 0) return [];
    return [
      {
        code: "tool_error",
        severity: "warning",
        message: `Nsight Compute reported ${this.#errorCount} errors in this run; the first: ${this.#errors[0] ?? ""}`,
        launch: null,
        evidence: { count: this.#errorCount, lines: this.#errors.join("\n") },
      },
    ];
  }
}

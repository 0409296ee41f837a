import { visibleText } from "../src/charts/visible-text.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";

/** An end that is no fault of this program: what happened, what to do, and the exit code that says so. */
export class CommandFailure extends Error {
  readonly exitCode: ExitCode;
  readonly code: string;
  readonly hint: string;
  readonly evidence: Readonly<Record<string, unknown>>;

  constructor(
    exitCode: ExitCode,
    failure: { code: string; message: string; hint: string; evidence?: Readonly<Record<string, unknown>> },
  ) {
    super(failure.message);
    this.name = "CommandFailure";
    this.exitCode = exitCode;
    this.code = failure.code;
    this.hint = failure.hint;
    this.evidence = failure.evidence ?? {};
  }
}

/** Any thrown value as a failure; what is not one already is a fault of this program. */
export function asFailure(error: unknown): CommandFailure {
  if (error instanceof CommandFailure) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new CommandFailure(EXIT.internal, {
    code: "internal",
    message: `internal error: ${message}`,
    hint: "This is a fault of profile-kernel: report it with the lines above and, if possible, the input.",
    evidence: error instanceof Error && error.stack !== undefined ? { stack: error.stack } : {},
  });
}

/**
 * The failure for stderr. Text: message, then the hint. JSON, where the caller asked for JSON on stdout: one line
 * `{"error":{"code","message","hint","evidence"}}`.
 */
export function failureText(failure: CommandFailure, format: "text" | "json"): string {
  const { code, message, hint, evidence } = failure;
  if (format === "json") return `${JSON.stringify({ error: { code, message, hint, evidence } })}\n`;
  const stack = failure.exitCode === EXIT.internal && typeof evidence.stack === "string" ? `${evidence.stack}\n` : "";
  return `${stack}profile-kernel: ${visibleText(message)}\n${hint === "" ? "" : `  ${visibleText(hint)}\n`}`;
}

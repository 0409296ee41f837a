import type { AnalysisAnswer } from "../src/model/jobs.ts";
import type { Failure } from "../src/model/profile.ts";

/** How an analysis ended, wherever it ran. */
export type AnalysisOutcome = AnalysisAnswer | { readonly kind: "aborted" };

export interface AnalysisLimits {
  readonly timeoutMs: number;
  /** JavaScript heap. */
  readonly memoryMb: number;
}

export const timedOut = (timeoutMs: number): Failure => ({
  code: "analysis_timeout",
  message: `The analysis took longer than ${timeoutMs / 1000} s.`,
  hint: "Raise ANALYSIS_TIMEOUT_S, or profile fewer launches.",
  retryable: true,
  evidence: { limit_s: timeoutMs / 1000 },
});

export const outOfMemory = (memoryMb: number): Failure => ({
  code: "analysis_crashed",
  message: `The analysis needed more than ${memoryMb} MB of memory.`,
  hint: "Raise ANALYSIS_MEMORY_MB, or profile fewer launches.",
  retryable: true,
  evidence: { limit_mb: memoryMb },
});

export const crashed = (reason: string): Failure => ({
  code: "analysis_crashed",
  message: `The analysis broke down: ${reason.slice(0, 500)}`,
  hint: "This is a fault of the service: report it, with the file if you may.",
  retryable: false,
  evidence: { reason: reason.slice(0, 500) },
});

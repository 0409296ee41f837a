import type { ProblemCode } from "./problem.ts";

/** One thing that is wrong with a request: where, what was given, what would work. */
export interface RefusalItem {
  /** JSON Pointer (RFC 6901) into the body, or `?name` for a query parameter. */
  readonly pointer: string;
  readonly detail: string;
  readonly code: string;
}

export interface RefusalDetails {
  readonly hint?: string;
  readonly errors?: readonly RefusalItem[];
  /** Seconds after which asking again makes sense. */
  readonly retryAfterS?: number;
}

/** A request that is not carried out, and why. The HTTP layer turns it into a problem document. */
export class RefusedError extends Error {
  override readonly name = "RefusedError";
  readonly code: ProblemCode;
  readonly details: RefusalDetails;

  constructor(code: ProblemCode, message: string, details: RefusalDetails = {}) {
    super(message);
    this.code = code;
    this.details = details;
  }
}

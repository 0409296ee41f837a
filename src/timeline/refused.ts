import type { ReadFailure } from "../model/report.ts";

/** Ends a reader from within; the reader turns it into its result. */
export class Refused extends Error {
  readonly failure: ReadFailure;

  constructor(failure: ReadFailure) {
    super(failure.message);
    this.name = "Refused";
    this.failure = failure;
  }
}

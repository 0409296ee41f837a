/** Thrown where the GPU's times are too far from the zero that an earlier event of the host gave: read again with theirs. */
export class OtherZero extends Error {
  readonly zero: Zero;

  constructor(zero: Zero) {
    super("the zero of times has to be another one");
    this.zero = zero;
  }
}

export interface Zero {
  readonly us: number;
  readonly ns: number;
}

/** Times as nanoseconds from the first one seen, so that they are exact in a double. */
export class Clock {
  zero: Zero | null;
  /** True as long as all times and durations are whole microseconds. */
  isWholeMicroseconds = true;

  constructor(zero: Zero | null) {
    this.zero = zero;
  }

  /** NaN where it would not be exact: over 104 days away. */
  relative_ns(us: number, ns: number): number {
    if (this.zero === null) this.zero = { us, ns };
    if (ns !== 0) this.isWholeMicroseconds = false;
    return exact((us - this.zero.us) * 1000 + (ns - this.zero.ns));
  }

  duration_ns(us: number, ns: number): number {
    if (ns !== 0) this.isWholeMicroseconds = false;
    return exact(us * 1000 + ns);
  }
}

const exact = (ns: number): number => (Number.isSafeInteger(ns) ? ns : Number.NaN);

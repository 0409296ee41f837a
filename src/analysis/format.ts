/** Guards against 14.499999999999998 where arithmetic meant 14.5; far below any printed digit. */
const NUDGE = 1e-9;

/** Rounds half up to so many decimals and prints all of them. */
export function roundHalfUp(value: number, decimals: number): string {
  const scale = 10 ** decimals;
  return (Math.floor(value * scale + 0.5 + NUDGE) / scale).toFixed(decimals);
}

/** A fraction as a percentage without decimals, halves rounded up: 0.125 is `13%`. */
export const percent = (fraction: number): string => `${roundHalfUp(100 * fraction, 0)}%`;

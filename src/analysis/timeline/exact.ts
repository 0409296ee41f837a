/** Sum of times that are whole nanoseconds, without the rounding of a sum of fractions. */
export const exactSumUs = (values: readonly number[]): number =>
  values.reduce((ns, us) => ns + Math.round(us * 1000), 0) / 1000;

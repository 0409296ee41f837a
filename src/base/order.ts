/** Compares two values: negative, zero, positive. */
export type Comparator<T> = (a: T, b: T) => number;

/** Ascending by number; null sorts last whichever the direction, so that "not measured" never leads a ranking. */
export const byNumber =
  <T>(key: (item: T) => number | null): Comparator<T> =>
  (a, b) => {
    const x = key(a);
    const y = key(b);
    if (x === null || y === null) return x === y ? 0 : x === null ? 1 : -1;
    return x - y;
  };

/** Descending by number, null last. */
export const byNumberDescending =
  <T>(key: (item: T) => number | null): Comparator<T> =>
  (a, b) => {
    const x = key(a);
    const y = key(b);
    if (x === null || y === null) return x === y ? 0 : x === null ? 1 : -1;
    return y - x;
  };

/** Ascending by code unit, independent of the host's locale. */
export const byText =
  <T>(key: (item: T) => string): Comparator<T> =>
  (a, b) => {
    const x = key(a);
    const y = key(b);
    return x < y ? -1 : x > y ? 1 : 0;
  };

/** Tries the comparators in turn: a total order needs a last one that never ties. */
export const inOrder =
  <T>(...comparators: Comparator<T>[]): Comparator<T> =>
  (a, b) => {
    for (const compare of comparators) {
      const result = compare(a, b);
      if (result !== 0) return result;
    }
    return 0;
  };

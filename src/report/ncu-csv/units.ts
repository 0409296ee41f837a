/** A printed unit: the unit that numbers are kept in, and the power of ten that leads there. */
export interface Unit {
  /** `ns`, `byte`, `hz`, `byte/s`, `%`, `inst`, …, in the spelling of Nsight Compute 2025; "" for plain numbers. */
  readonly base: string;
  readonly shift: number;
}

/** Decimal: 1,024 byte/block print as 1.024000 Kbyte/block (Nsight Compute 2025.3.1). */
const PREFIXES: Readonly<Record<string, number>> = { k: 3, K: 3, M: 6, G: 9, T: 12, P: 15 };

/** Power of ten over nanoseconds. */
const TIMES: Readonly<Record<string, number>> = { n: 0, u: 3, µ: 3, μ: 3, m: 6, "": 9 };

/**
 * What is counted. From the pages of Nsight Compute 2020 to 2025, and the dimensions that NVIDIA's Perfworks declares
 * (`NVPW_DimUnitName` in nvperf_host.h).
 */
const COUNTED = new Set(
  (
    "attribute bit block branch cluster cta cycle device fbp gpc inst instruction link lane op operation pass pixel " +
    "primitive quad register request sample sector sm tag texel thread tpc transaction vertex warp wavefront workload"
  ).split(" "),
);

/**
 * Reads a unit in the spellings of all versions: `nsecond` and `ns`, `cycle/nsecond` and `Ghz`, `byte/second` and
 * `byte/s`. Names compare without case, prefixes with it (`Mbyte` is a unit, `mbyte` is none). Null: not a known unit;
 * the number beside it must not be used.
 */
export function readUnit(printed: string): Unit | null {
  const text = printed.trim();
  if (text === "") return { base: "", shift: 0 };
  const [over, under, more] = text.split("/");
  if (over === undefined || more !== undefined) return null;
  const numerator = numeratorOf(over.trim());
  if (numerator === null || under === undefined) return numerator;
  const denominator = denominatorOf(under.trim());
  if (denominator === null) return null;
  const shift = numerator.shift + denominator.shift;
  if (numerator.base === "cycle" && denominator.base === "s") return { base: "hz", shift };
  return { base: `${numerator.base}/${denominator.base}`, shift };
}

function numeratorOf(name: string): Unit | null {
  if (name === "%") return { base: "%", shift: 0 };
  const time = timeOf(name);
  if (time !== null) return { base: "ns", shift: time };
  return countOf(name);
}

/**
 * A time below the line counts the other way round: `sector/ns` is 10^9 sector/s. Any other prefix there is printed as
 * if it stood above the line: 1,634 %/byte print as 1.634000 %/Kbyte (Nsight Compute 2025.3.1, both pages of a report).
 */
function denominatorOf(name: string): Unit | null {
  const time = timeOf(name);
  if (time !== null) return { base: "s", shift: 9 - time };
  return countOf(name);
}

function timeOf(name: string): number | null {
  const match = /^([nuµμm]?)(?:s|sec|seconds?)$/i.exec(name);
  if (!match) return null;
  return TIMES[match[1] as string] ?? null;
}

function countOf(name: string): Unit | null {
  const whole = singular(name.toLowerCase());
  if (whole !== null) return { base: whole, shift: 0 };
  const prefix = PREFIXES[name[0] ?? ""];
  const counted = singular(name.slice(1).toLowerCase());
  return prefix === undefined || counted === null ? null : { base: counted, shift: prefix };
}

function singular(name: string): string | null {
  if (name === "byte" || name === "bytes") return "byte";
  if (name === "hz") return "hz";
  if (name === "vertices") return "vertex";
  if (COUNTED.has(name)) return name;
  for (const ending of ["s", "es"]) {
    const stem = name.endsWith(ending) ? name.slice(0, -ending.length) : "";
    if (COUNTED.has(stem)) return stem;
  }
  return null;
}

/**
 * The unit in base form that a metric must have, by its name; null where the name does not tell. Only names whose unit
 * is the same on all pages of Nsight Compute 2020 to 2025 that were compared.
 */
export function expectedUnit(metric: string): string | null {
  return EXPECTED.find(([names]) => names.test(metric))?.[1] ?? null;
}

const EXPECTED: readonly (readonly [names: RegExp, base: string])[] = [
  [/^gpu__time_duration\.(?:sum|avg|min|max)$/, "ns"],
  [/\.pct(?:_of_peak_\w+)?$/, "%"],
  [/__cycles_(?:elapsed|active)\.(?:sum|avg|min|max)$/, "cycle"],
  [/__cycles_elapsed\.(?:sum|avg|min|max)\.per_second$/, "hz"],
  [/^dram__bytes(?:_read|_write)?\.(?:sum|avg|min|max)$/, "byte"],
  [/^dram__bytes(?:_read|_write)?\.(?:sum|avg|min|max)\.per_second$/, "byte/s"],
];

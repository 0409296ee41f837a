import { err, ok, type Result } from "../base/result.ts";
import data from "./catalogue.json" with { type: "json" };
import { currentCapability } from "./limits.ts";

/** Precisions with a published dense peak. `fp64` and `fp32` are CUDA cores, the others tensor cores (FP32 or INT32 accumulation). */
export const CATALOGUE_PRECISIONS = [
  "fp64",
  "fp64_tensor",
  "fp32",
  "tf32",
  "fp16",
  "bf16",
  "fp8",
  "fp6",
  "fp4",
  "int8",
] as const;
type CataloguePrecision = (typeof CATALOGUE_PRECISIONS)[number];

/** One published number. `value: null`: not supported, or nobody published it. */
export interface Figure {
  readonly value: number | null;
  readonly source: string;
  /** False: the named document is the origin, but it was not read again for this entry. */
  readonly seen?: boolean;
  /** What other sources say. */
  readonly disputed?: string;
  /** The same number as the counters of a real report give it. */
  readonly report_derived?: number;
  readonly both_directions?: boolean;
  readonly via?: string;
}

const FIGURES = [
  "sm_count",
  "hbm_bandwidth",
  "hbm_capacity",
  "l2_bytes",
  "shared_memory_per_sm_bytes",
  "shared_memory_per_block_optin_bytes",
  "shared_memory_reserved_per_block_bytes",
  "registers_per_sm",
  "max_warps_per_sm",
  "max_threads_per_sm",
  "max_blocks_per_sm",
  "boost_clock_hz",
  "nvlink_bandwidth",
] as const;
type FigureName = (typeof FIGURES)[number];

/**
 * A GPU by its device name. Units: bytes, bytes/s, Hz, operations/s (2 per multiply-add, without 2:4 sparsity).
 * Memory sizes are decimal as sold, on-chip sizes are exact.
 */
export type CatalogueEntry = {
  readonly id: string;
  /** Regular expressions on the device name; the first entry with a match wins, so variants stand before the plain name. */
  readonly match: readonly string[];
  readonly match_flags: string;
  readonly compute_capability: string;
  readonly peaks_dense: Readonly<Record<CataloguePrecision, Figure>>;
  /** Numbers that came without a source and contradict published ones. Shown, never the default of a verdict. */
  readonly claimed?: Readonly<Record<string, unknown>>;
  readonly notes?: readonly string[];
} & Readonly<Record<FigureName, Figure>>;

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function figureProblem(value: unknown): string | null {
  if (!isObject(value)) return "is not an object with value and source";
  if (typeof value.source !== "string" || value.source === "") return "has no source";
  const number = value.value;
  if (number === null) return null;
  if (typeof number !== "number" || !Number.isFinite(number) || number < 0) return "has a value that is no number >= 0";
  return typeof value.seen === "boolean" ? null : "has a value and does not say whether its source was seen";
}

function entryProblem(entry: unknown): string | null {
  if (!isObject(entry)) return "is not an object";
  if (typeof entry.id !== "string" || !/^[a-z0-9-]+$/.test(entry.id)) return "has no id";
  if (!Array.isArray(entry.match) || entry.match.length === 0) return "has no match";
  if (typeof entry.match_flags !== "string") return "has no match_flags";
  if (typeof entry.compute_capability !== "string" || !/^\d+\.\d$/.test(entry.compute_capability)) {
    return "has no compute_capability such as 9.0";
  }
  try {
    for (const pattern of entry.match) new RegExp(String(pattern), entry.match_flags);
  } catch (error) {
    return `has a match that is no regular expression: ${String(error)}`;
  }
  for (const name of FIGURES) {
    const problem = figureProblem(entry[name]);
    if (problem !== null) return `${name} ${problem}`;
  }
  if (!isObject(entry.peaks_dense)) return "has no peaks_dense";
  for (const precision of CATALOGUE_PRECISIONS) {
    const figure = entry.peaks_dense[precision];
    const problem = figureProblem(figure);
    if (problem !== null) return `peaks_dense.${precision} ${problem}`;
    if (isObject(figure) && figure.value === 0) return `peaks_dense.${precision} is 0; unknown is null`;
  }
  const { fp8, fp16 } = entry.peaks_dense as Record<string, Figure>;
  if (fp8?.value != null && fp16?.value != null && fp8.value < fp16.value) {
    return "peaks_dense.fp8 is below fp16: one of them is a sparse or a halved figure";
  }
  return null;
}

/**
 * Checks catalogue data: shape, a source for each number, peaks null or above 0, fp8 not below fp16, ids unique.
 * The error names the entry and what is wrong with it.
 */
export function parseCatalogue(raw: unknown): Result<readonly CatalogueEntry[], string> {
  if (!Array.isArray(raw)) return err("the catalogue is not a list of GPUs");
  const ids = new Set<string>();
  for (const [position, entry] of raw.entries()) {
    const problem = entryProblem(entry);
    const id = isObject(entry) && typeof entry.id === "string" ? entry.id : `entry ${position}`;
    if (problem !== null) return err(`${id} ${problem}`);
    if (ids.has(id)) return err(`${id} stands in the catalogue twice`);
    ids.add(id);
  }
  return ok(raw as CatalogueEntry[]);
}

/**
 * Published figures of the GPUs known by name, in the order in which names are tried. The file is part of the build and
 * checked with {@link parseCatalogue} by the tests, not at every start.
 */
export const CATALOGUE = data as unknown as readonly CatalogueEntry[];

const isNamed = (entry: CatalogueEntry, name: string): boolean =>
  entry.match.some((pattern) => new RegExp(pattern, entry.match_flags).test(name));

/** What is known about a device besides its name; null where nothing says. */
export interface DeviceIdentity {
  readonly name: string | null;
  /** Such as `9.0`. */
  readonly compute_capability: string | null;
  readonly sm_count: number | null;
}

export interface CatalogueMatch {
  readonly entry: CatalogueEntry;
  /** Why the published peaks do not fit this device although the name does; null: they fit. */
  readonly mismatch: string | null;
}

/**
 * How far the SM count may be from the published one before the device counts as a part of the GPU (MIG instance,
 * green context) or as another product. B200 and GB300 devices report 148 or 152 where sheets name the other.
 */
const SM_COUNT_TOLERANCE = 0.05;

/** The last find: all launches of a report ask for the same device. */
let last: { readonly device: DeviceIdentity; readonly match: CatalogueMatch | null } | null = null;

/** Finds a GPU by device name and checks the find by compute capability and SM count. Null: not in the catalogue. */
export function findGpu(device: DeviceIdentity): CatalogueMatch | null {
  const known = last?.device;
  const same =
    known?.name === device.name &&
    known.compute_capability === device.compute_capability &&
    known.sm_count === device.sm_count;
  if (last === null || !same) last = { device: { ...device }, match: lookUp(device) };
  return last.match;
}

function lookUp(device: DeviceIdentity): CatalogueMatch | null {
  const { name } = device;
  if (name === null) return null;
  const entry = CATALOGUE.find((candidate) => isNamed(candidate, name));
  if (entry === undefined) return null;
  const capability = device.compute_capability;
  if (capability !== null && currentCapability(capability) !== entry.compute_capability) {
    return {
      entry,
      mismatch: `the device has compute capability ${capability}, ${entry.id} has ${entry.compute_capability}`,
    };
  }
  const published = entry.sm_count.value;
  if (device.sm_count !== null && published !== null) {
    if (Math.abs(device.sm_count - published) > SM_COUNT_TOLERANCE * published) {
      return { entry, mismatch: `the device has ${device.sm_count} SMs, ${entry.id} has ${published}` };
    }
  }
  return { entry, mismatch: null };
}

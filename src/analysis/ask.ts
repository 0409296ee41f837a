import { ROLES } from "../hardware/roles.ts";
import { TENSOR_PREFIX } from "../hardware/tensor-counters.ts";
import { ANALYSES } from "./analyses.ts";
import { type Declaration, type Family, inFamily, type Need } from "./declaration.ts";
import { isReadOfFamily, STALL_FAMILIES } from "./families.ts";

/** What ncu is to be asked for: `--section` for each section and `--metrics` with all metrics. */
export interface Ask {
  readonly sections: readonly string[];
  /** Sorted, without repeats. */
  readonly metrics: readonly string[];
  /** Declared, and not asked for by name, each with the reason. */
  readonly left_out: readonly { readonly name: string; readonly reason: LeftOut }[];
}

/** Metrics of a tool and chip, with or without suffixes. */
export interface KnownMetrics {
  readonly names: ReadonlySet<string>;
  /** False: there are others too, as where the names are those of a report. */
  readonly complete: boolean;
}

/**
 * not_by_name: the tool has no name for it, but computes or lists it with others. always_there: in every report.
 * not_known: not among the metrics of this tool and chip. by_section: a section brings it.
 */
export type LeftOut = "not_by_name" | "always_there" | "not_known" | "by_section";

/**
 * Names that cannot be asked for: `derived__local_spilling_requests` is refused (measured, ncu 2025.3.1) and its kind is
 * computed by sections; `breakdown:` is a list of other metrics; samples of the program counter take a run of their own.
 */
const NOT_BY_NAME = /^(?:derived__|breakdown:|group:|smsp__pcsamp)/;
/** Attributes of the device and of the replay are in every report. */
const ALWAYS_THERE = /^(?:device__|profiler__)/;
/** Known before a launch runs: two sections without any pass. */
const LAUNCH = /^launch__/;
const LAUNCH_SECTIONS = ["LaunchStats", "Occupancy"] as const;

/** Sections that bring a family whose members are not known. */
const FAMILY_SECTIONS: readonly (readonly [prefix: string, section: string])[] = [
  [STALL_FAMILIES.ratio.prefix, "WarpStateStats"],
  [TENSOR_PREFIX, "SpeedOfLight_HierarchicalTensorRooflineChart"],
  // With it comes the list of counters over which the utilisation is a maximum, and their values.
  ["sm__", "SpeedOfLight"],
  ["idc__", "SpeedOfLight"],
];

/**
 * The counters that the analyses declare, as ncu can be asked for them: of each role the first metric that can be had, the
 * optional metrics, the members of families. In an order of their own, so that one plan gives one command line.
 *
 * `known`: metrics of this tool and chip: all, as `ncu --query-metrics` lists them, or those of a full report. Null: none
 * is known. What may not be there is asked for by its declared name (ncu goes on without metrics that it does not have:
 * measured, 2025.3.1), and where no member of a family can be known a section brings the family.
 */
export function metricsToAsk(known: KnownMetrics | null, declarations: readonly Declaration[] = ANALYSES): Ask {
  const sections = new Set<string>();
  const metrics = new Set<string>();
  const leftOut = new Map<string, LeftOut>();
  for (const need of declarations.flatMap(({ needs }) => needs)) {
    if ("family" in need) {
      const members = known === null ? [] : membersOf(need.family, known.names);
      for (const name of members) metrics.add(name);
      if (members.length > 0) continue;
      const label = `${need.family.prefix}*${need.family.suffix}`;
      const section = FAMILY_SECTIONS.find(([prefix]) => need.family.prefix === prefix)?.[1];
      if (known === null && section !== undefined) {
        sections.add(section);
        leftOut.set(label, "by_section");
      } else leftOut.set(label, "not_known");
      continue;
    }
    const names = namesOf(need);
    const possible = names.filter((candidate) => refusal(candidate, known) === null);
    // Among names that may be there, one that is known to be.
    const name = possible.find((candidate) => isKnown(candidate, known)) ?? possible[0];
    if (name === undefined) {
      const [first = ""] = names;
      leftOut.set(first, refusal(first, known) ?? "not_known");
    } else if (LAUNCH.test(name)) for (const section of LAUNCH_SECTIONS) sections.add(section);
    else metrics.add(name);
  }
  for (const name of metrics) leftOut.delete(name);
  return {
    sections: [...sections].sort(),
    metrics: [...metrics].sort(),
    left_out: [...leftOut].map(([name, reason]) => ({ name, reason })).sort((a, b) => (a.name < b.name ? -1 : 1)),
  };
}

const namesOf = (need: Exclude<Need, { readonly family: Family }>): readonly string[] =>
  "role" in need ? ROLES[need.role] : [need.metric];

/** Why a metric is not asked for, or null. */
function refusal(name: string, known: KnownMetrics | null): LeftOut | null {
  if (ALWAYS_THERE.test(name)) return "always_there";
  if (NOT_BY_NAME.test(name)) return "not_by_name";
  return known?.complete === true && !isKnown(name, known) ? "not_known" : null;
}

const isKnown = (name: string, known: KnownMetrics | null): boolean =>
  LAUNCH.test(name) || known?.names.has(name) === true || known?.names.has(baseOf(name)) === true;

/** A metric without its rollup and what follows: what `ncu --query-metrics` prints. */
const baseOf = (name: string): string => name.replace(/\..*$/s, "");

/** Full names of a family's members that an analysis reads. */
function membersOf(family: Family, known: ReadonlySet<string>): string[] {
  const rollup = family.suffix.indexOf(".");
  const ending = rollup < 0 ? "" : family.suffix.slice(rollup);
  const members: string[] = [];
  for (const entry of known) {
    const name = entry.includes(".") ? entry : entry + ending;
    if (inFamily(family, name) && isReadOfFamily(name) && !NOT_BY_NAME.test(name)) members.push(name);
  }
  return members;
}

/** Metrics of `ncu --query-metrics`: the first word of each line of its table. */
export function queriedMetrics(text: string): KnownMetrics {
  const names = new Set<string>();
  for (const line of text.split("\n")) {
    const name = /^([a-z][a-z0-9]*__[\w.]{1,300})(?:\s|$)/i.exec(line)?.[1];
    if (name !== undefined) names.add(name);
  }
  return { names, complete: true };
}

import { parseTensorColumn, TENSOR_PREFIX, TENSOR_SUFFIXES, type TensorColumn } from "../hardware/tensor-counters.ts";
import type { MetricSet } from "../model/metrics.ts";
import { type Family, inFamily } from "./declaration.ts";

export const STALL_FAMILIES = {
  /** Warps in that state per issued instruction: cycles of the average warp per issue. */
  ratio: { prefix: "smsp__average_warps_issue_stalled_", suffix: "_per_issue_active.ratio" },
  /** Part of the active warp cycles, as lists written by hand ask for it. */
  percent: { prefix: "smsp__warp_issue_stalled_", suffix: "_per_warp_active.pct" },
  /** Samples of the program counter. */
  samples: { prefix: "smsp__pcsamp_warps_issue_stalled_", suffix: "" },
} as const;
export type StallFamily = keyof typeof STALL_FAMILIES;

export const ELAPSED_SUFFIX = ".avg.pct_of_peak_sustained_elapsed";

/** Counters over which `sm__throughput` is a maximum; its parts, not its relatives (occupancy, other throughputs). */
const COMPUTE_PART = /^(?:sm__(?:inst_executed|inst_issued|issue_active|pipe_|mio)|idc__)/;

interface Stall {
  readonly reason: string;
  readonly name: string;
}

/** The metrics of a launch whose names only the report knows. */
export interface LaunchFamilies {
  readonly stalls: Readonly<Record<StallFamily, readonly Stall[]>>;
  readonly tensor: readonly TensorColumn[];
  /** Full names of utilisations that may have set the compute utilisation. */
  readonly computeParts: readonly string[];
  /** Declared families of which the launch has a member. */
  readonly present: ReadonlySet<Family>;
}

type Kind =
  | { readonly stall: StallFamily; readonly reason: string }
  | { readonly tensor: TensorColumn }
  | { readonly computePart: true };

function classify(name: string): Kind | null {
  for (const family of ["ratio", "percent", "samples"] as const) {
    const { prefix, suffix } = STALL_FAMILIES[family];
    if (name.startsWith(prefix) && name.endsWith(suffix)) {
      const reason = name.slice(prefix.length, name.length - suffix.length);
      return reason === "" || reason.includes(".") || reason.endsWith("_not_issued") ? null : { stall: family, reason };
    }
  }
  if (name.startsWith(TENSOR_PREFIX)) {
    const suffix = Object.values(TENSOR_SUFFIXES).find((ending) => name.endsWith(ending));
    const column = suffix === undefined ? null : parseTensorColumn(name.slice(0, -suffix.length));
    return column === null ? null : { tensor: column };
  }
  if (name.endsWith(ELAPSED_SUFFIX) && COMPUTE_PART.test(name)) return { computePart: true };
  return null;
}

/** True for a member of a family that an analysis reads, and not only one that its ends would let in. */
export const isReadOfFamily = (name: string): boolean => classify(name) !== null;

/** Sorts metric names into families; each name is looked at once for a whole report. */
export class FamilyIndex {
  readonly #declared: readonly Family[];
  readonly #known = new Map<string, { kind: Kind | null; member: readonly Family[] } | null>();

  /** Launches of one run mostly have the same metrics. */
  #last: { readonly names: readonly string[]; readonly families: LaunchFamilies } | null = null;

  constructor(declared: readonly Family[]) {
    this.#declared = declared;
  }

  #look(name: string): { kind: Kind | null; member: readonly Family[] } | null {
    let known = this.#known.get(name);
    if (known === undefined) {
      const kind = classify(name);
      const member = this.#declared.filter((family) => inFamily(family, name));
      known = kind === null && member.length === 0 ? null : { kind, member };
      this.#known.set(name, known);
    }
    return known;
  }

  /** The families of a launch. */
  of(metrics: MetricSet): LaunchFamilies {
    const names = [...metrics.names()];
    const last = this.#last;
    if (last !== null && last.names.length === names.length && names.every((name, at) => name === last.names[at])) {
      return last.families;
    }
    const families = this.#sort(names);
    this.#last = { names, families };
    return families;
  }

  #sort(names: readonly string[]): LaunchFamilies {
    const stalls: Record<StallFamily, Stall[]> = { ratio: [], percent: [], samples: [] };
    const tensor = new Map<string, TensorColumn>();
    const computeParts: string[] = [];
    const present = new Set<Family>();
    for (const name of names) {
      const known = this.#look(name);
      if (known === null) continue;
      for (const family of known.member) present.add(family);
      const { kind } = known;
      if (kind === null) continue;
      if ("stall" in kind) stalls[kind.stall].push({ reason: kind.reason, name });
      else if ("tensor" in kind) {
        if (!tensor.has(kind.tensor.base)) tensor.set(kind.tensor.base, kind.tensor);
      } else computeParts.push(name);
    }
    return { stalls, tensor: [...tensor.values()], computeParts, present };
  }
}

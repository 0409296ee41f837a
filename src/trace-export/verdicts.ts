import { nameKey } from "../analysis/names.ts";
import { stageOf } from "../analysis/stages/index.ts";
import type { KernelEntry, ProfileResult, Shape } from "../model/result.ts";
import { type LaunchShape, NONE, type Timeline } from "../model/timeline.ts";

type Dim = readonly number[] | null;

/** What is said of a launch, ready to be written: the arguments of its event, without the closing brace. */
export type LaunchArguments = string;

/** Microseconds by which a duration may differ from the ends of its cluster: they were divided by 1000. */
const ROUNDING_US = 1e-6;

const shapeKey = (grid: Dim, block: Dim, shared: number | null): string =>
  `${grid?.join() ?? null}|${block?.join() ?? null}|${shared}`;

/** Parts of an object as JSON without braces; what is null is left out. */
export const fields = (record: Readonly<Record<string, unknown>>): string =>
  Object.entries(record)
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`)
    .join(",");

/** Stage and verdict of every launch of one timeline, as the result has them. Answers are made once and kept. */
export class Verdicts {
  readonly #timeline: Timeline;
  readonly #entries = new Map<string, KernelEntry>();
  readonly #kept = new Map<string, LaunchArguments>();
  readonly #ofName: ({ entry: KernelEntry | null; stage: string; family: string } | undefined)[] = [];
  readonly #shapes = new Map<string, Shape | null>();

  constructor(timeline: Timeline, result: ProfileResult) {
    this.#timeline = timeline;
    for (const entry of result.kind === "pipeline" ? result.kernels : [result]) {
      this.#entries.set(entry.detail.names.key, entry);
    }
  }

  /** @param name, shape positions in the timeline; @param durationUs impossible ends clipped. */
  argumentsOf(name: number, shape: number, durationUs: number): LaunchArguments {
    const { entry } = this.#kernel(name);
    const found = entry === null ? null : this.#shape(entry, name, shape);
    const cluster = found === null ? -1 : clusterAt(found, durationUs);
    const key = `${name} ${shape} ${cluster}`;
    const known = this.#kept.get(key);
    if (known !== undefined) return known;
    const written = this.#write(name, shape, found, cluster);
    this.#kept.set(key, written);
    return written;
  }

  #kernel(name: number): { entry: KernelEntry | null; stage: string; family: string } {
    const known = this.#ofName[name];
    if (known !== undefined) return known;
    const names = this.#timeline.names[name];
    const entry = names === undefined ? null : (this.#entries.get(nameKey(names).key) ?? null);
    const { stage, family } = entry?.detail.stage ?? stageOf(names ?? "");
    const kernel = { entry, stage, family };
    this.#ofName[name] = kernel;
    return kernel;
  }

  #shape(entry: KernelEntry, name: number, shape: number): Shape | null {
    const key = `${name} ${shape}`;
    const known = this.#shapes.get(key);
    if (known !== undefined) return known;
    const own = shapeAt(this.#timeline, shape);
    const wanted = shapeKey(own?.grid ?? null, own?.block ?? null, own?.shared_memory_bytes ?? null);
    const found =
      entry.detail.shapes.find((one) => shapeKey(one.grid, one.block, one.shared_memory_usage_bytes) === wanted) ??
      null;
    this.#shapes.set(key, found);
    return found;
  }

  #write(name: number, shape: number, found: Shape | null, at: number): LaunchArguments {
    const { entry, stage, family } = this.#kernel(name);
    const own = shapeAt(this.#timeline, shape);
    const cluster = found?.clusters[at];
    return fields({
      stage,
      family,
      ...(entry === null
        ? { verdict: "not among the listed kernels" }
        : {
            share: entry.fraction_of_pipeline,
            cluster: cluster === undefined ? null : at,
            roofline: cluster?.roofline ?? null,
            limiter: cluster === undefined || cluster.limiter === "unknown" ? null : cluster.limiter,
            roofline_null_reason: cluster?.roofline === null ? cluster.roofline_null_reason : null,
          }),
      // Spelled as Kineto does, so that what reads its traces reads these.
      grid: own?.grid ?? null,
      block: own?.block ?? null,
      "shared memory": own?.shared_memory_bytes ?? null,
      "registers per thread": own?.registers_per_thread ?? null,
    });
  }
}

const shapeAt = ({ shapes }: Timeline, shape: number): LaunchShape | null =>
  shape === NONE ? null : (shapes[shape] ?? null);

const clusterAt = ({ clusters }: Shape, us: number): number =>
  clusters.findIndex(
    ({ timing: { min_us, max_us } }) =>
      min_us !== null && max_us !== null && us >= min_us - ROUNDING_US && us <= max_us + ROUNDING_US,
  );

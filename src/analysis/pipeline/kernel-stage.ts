import type { KernelNames } from "../../model/launch.ts";
import { NONE, type Timeline } from "../../model/timeline.ts";
import { nameKey } from "../names.ts";
import { type StageMatch, stageOf } from "../stages/index.ts";
import type { ModelKind } from "../stages/model-kind.ts";
import { LaunchRanges } from "../timeline/launch-ranges.ts";
import type { RankedKernel } from "../timeline/ranking.ts";

/** Launches of a kernel that are asked for what stands around them. */
const LAUNCHES_ASKED = 64;
/** From this part of their time on, one stage speaks for the kernel: below it its launches are of several (reasoned). */
const ONE_STAGE = 0.8;

/**
 * The stage of a kernel: by its name and the kind of the model, and by the ranges and operators around its launches where
 * these agree. A kernel that is launched in several stages (a GEMM) keeps what its name says.
 */
export class KernelStages {
  readonly #timelines: readonly Timeline[];
  readonly #model: ModelKind;
  readonly #ranges = new Map<number, LaunchRanges>();
  readonly #known = new Map<string, StageMatch>();

  constructor(timelines: readonly Timeline[], model: ModelKind) {
    this.#timelines = timelines;
    this.#model = model;
  }

  of(kernel: RankedKernel): StageMatch {
    const { key } = kernel.key;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const match = this.#around(kernel) ?? this.byName(kernel.names);
    this.#known.set(key, match);
    return match;
  }

  /** As `of`, for a name of a kernel that was asked for; of others what the name says. */
  named(names: KernelNames): StageMatch {
    return this.#known.get(nameKey(names).key) ?? this.byName(names);
  }

  byName(names: KernelNames): StageMatch {
    return stageOf(names, this.#model);
  }

  #around({ names, shapes }: RankedKernel): StageMatch | null {
    const launches = (shapes ?? []).flatMap(({ clusters }) => clusters.flatMap((cluster) => cluster.launches));
    const every = Math.ceil(launches.reduce((sum, { rows }) => sum + rows.length, 0) / LAUNCHES_ASKED);
    const matchOf = this.#matcher(names);
    const votes = new Map<string, { readonly match: StageMatch; ns: number }>();
    let total = 0;
    let place = 0;
    for (const { timeline, rows } of launches) {
      for (const row of rows) {
        place += 1;
        if ((place - 1) % every !== 0) continue;
        const [match, ns] = [matchOf(timeline, row), this.#timeOf(timeline, row)];
        const vote = votes.get(match.rule) ?? { match, ns: 0 };
        votes.set(match.rule, vote);
        vote.ns += ns;
        total += ns;
      }
    }
    const byStage = [...votes.values()].sort((a, b) => b.ns - a.ns || (a.match.rule < b.match.rule ? -1 : 1));
    const [first] = byStage;
    if (first === undefined || total <= 0) return null;
    const agreed =
      byStage.reduce((sum, { match, ns }) => sum + (match.stage === first.match.stage ? ns : 0), 0) / total;
    if (agreed < ONE_STAGE) return null;
    return { ...first.match, confidence: Math.round(first.match.confidence * agreed * 1000) / 1000 };
  }

  /** Judges what stands around a launch, each surrounding once. */
  #matcher(names: KernelNames): (timeline: number, row: number) => StageMatch {
    const known = new Map<string, StageMatch>();
    return (position, row) => {
      const timeline = this.#timelines[position];
      if (timeline === undefined) return this.byName(names);
      const { rows, texts } = timeline;
      const op = rows.op[row] === NONE ? null : (texts[Number(rows.op[row])] ?? null);
      const nvtx = this.#rangesOf(position, timeline).of(row);
      const key = JSON.stringify([op, nvtx]);
      const match = known.get(key) ?? stageOf(names, { ...this.#model, nvtx, op });
      known.set(key, match);
      return match;
    };
  }

  #rangesOf(position: number, timeline: Timeline): LaunchRanges {
    const known = this.#ranges.get(position) ?? new LaunchRanges(timeline);
    this.#ranges.set(position, known);
    return known;
  }

  #timeOf(position: number, row: number): number {
    const rows = this.#timelines[position]?.rows;
    return rows === undefined ? 0 : Math.max(0, Number(rows.end_ns[row]) - Number(rows.start_ns[row]));
  }
}

import { byNumber, byNumberDescending, byText, inOrder } from "../../base/order.ts";
import type { Timeline } from "../../model/timeline.ts";
import { STRIP_BINS, STRIP_LANES, STRIP_STAGES, type TimelineStrip } from "../../model/timeline-strip.ts";
import { offsetsOf } from "./clocks.ts";
import { GRAPH, gpuUsesOf, KERNEL } from "./lanes.ts";
import type { Source } from "./launches.ts";

const FEW_STREAMS = 4;
const FEW_LANES = 4;

/** What may be drawn as one line. */
interface StripLane {
  readonly timeline: number;
  readonly rank: number | null;
  readonly device: number | null;
  readonly stream: string | null;
  busyNs: number;
}

/** Columns of one timeline for binning; `laneOf`: strip lane of each lane of the timeline. */
interface Part {
  readonly source: Source;
  readonly offsetNs: number;
  readonly laneOf: Int32Array;
  /** Of each name. */
  readonly stageOf: Int32Array;
}

/**
 * When the GPUs of a ranking were busy, binned: at most STRIP_BINS × STRIP_LANES × (STRIP_STAGES + 2) numbers. Rows of a
 * lane that overlap count once, for the one that began first; impossible ends are clipped as in the ranking. Linear in
 * rows. Null where nothing was selected; the caller asks only where starts are known.
 * @param stageOfKernel stage of the kernel with this position among the names of the timeline with that position.
 */
export function stripOf(
  sources: readonly Source[],
  stageOfKernel: (timeline: number, name: number) => string,
): TimelineStrip | null {
  const extents = sources.map(extentOf);
  const clocks = offsetsOf(
    sources.map(({ timeline }) => timeline),
    extents,
  );
  const stages = new Map<string, number>();
  const position = (stage: string): number => {
    const known = stages.get(stage);
    if (known !== undefined) return known;
    stages.set(stage, stages.size);
    return stages.size - 1;
  };
  const outside = position("outside");
  const { lanes, laneOf } = lanesOf(sources);
  const parts = sources.map(
    (source, timeline): Part => ({
      source,
      offsetNs: clocks.offsets[timeline] ?? 0,
      laneOf: laneOf[timeline] ?? new Int32Array(0),
      stageOf: stagesOfNames(source.timeline, (name) => position(stageOfKernel(timeline, name))),
    }),
  );
  const copies = position("memcpy");
  const others = position("other");
  let [first, last] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const [timeline, extent] of extents.entries()) {
    if (extent === null) continue;
    first = Math.min(first, extent[0] + (clocks.offsets[timeline] ?? 0));
    last = Math.max(last, extent[1] + (clocks.offsets[timeline] ?? 0));
  }
  if (!(last > first)) return null;
  const shownCount = Math.min(lanes.length, STRIP_LANES);
  const bins = shownCount > FEW_LANES ? STRIP_BINS / 2 : STRIP_BINS;
  const binNs = (last - first) / bins;
  const time = lanes.map(() => new Float64Array(0));
  const stageNs = new Float64Array(stages.size);
  for (const { source, offsetNs, laneOf: own, stageOf } of parts) {
    const { rows } = source.timeline;
    const { mask } = source.selection;
    const ends = source.lanes.end_ns;
    const covered = new Float64Array(lanes.length).fill(Number.NEGATIVE_INFINITY);
    for (let row = 0; row < rows.count; row += 1) {
      const lane = Number(own[Number(rows.lane[row])]);
      const target = lanes[lane];
      if (target === undefined) continue;
      const start = Math.max(Number(rows.start_ns[row]) + offsetNs, Number(covered[lane]), first);
      const end = Math.min(Number(ends[row]) + offsetNs, last);
      if (end <= start) continue;
      covered[lane] = end;
      const kind = rows.kind[row];
      const isOutside = mask !== null && mask[row] === 0;
      const stage = isOutside
        ? outside
        : kind === KERNEL
          ? Number(stageOf[Number(rows.name[row])])
          : kind === GRAPH
            ? others
            : copies;
      if (!isOutside) target.busyNs += end - start;
      stageNs[stage] = Number(stageNs[stage]) + end - start;
      let cells = time[lane];
      if (cells === undefined || cells.length === 0) {
        cells = new Float64Array(bins * stages.size);
        time[lane] = cells;
      }
      addTo(cells, stage * bins, bins, (start - first) / binNs, (end - first) / binNs);
    }
  }
  return {
    ...folded(lanes, time, stageNs, [...stages.keys()], bins),
    bins,
    bin_us: binNs / 1000,
    aligned_by: clocks.by,
  };
}

/** Adds the interval, in bins, to the cells from `at` on: the part of each bin that it covers. */
function addTo(cells: Float64Array, at: number, bins: number, from: number, to: number): void {
  const lastBin = Math.min(bins - 1, Math.floor(to));
  for (let bin = Math.min(bins - 1, Math.floor(from)); bin <= lastBin; bin += 1) {
    const part = Math.min(to, bin + 1) - Math.max(from, bin);
    if (part > 0) cells[at + bin] = Number(cells[at + bin]) + part;
  }
}

function stagesOfNames(timeline: Timeline, stageOfKernel: (name: number) => number): Int32Array {
  const { rows, names } = timeline;
  const stageOf = new Int32Array(names.length).fill(-1);
  for (let row = 0; row < rows.count; row += 1) {
    const name = Number(rows.name[row]);
    if (rows.kind[row] === KERNEL && stageOf[name] === -1) stageOf[name] = stageOfKernel(name);
  }
  return stageOf;
}

/** First start and last end of the selected rows, in the timeline's own time. */
function extentOf({ timeline: { rows }, selection: { mask }, lanes }: Source): readonly [number, number] | null {
  let [first, last] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let row = 0; row < rows.count; row += 1) {
    if (mask !== null && mask[row] === 0) continue;
    first = Math.min(first, Number(rows.start_ns[row]));
    last = Math.max(last, Number(lanes.end_ns[row]));
  }
  return last >= first ? [first, last] : null;
}

/** GPU uses with selected rows; of a single one its streams, where they are few. */
function lanesOf(sources: readonly Source[]): { lanes: StripLane[]; laneOf: Int32Array[] } {
  const found = sources.map(({ timeline, selection: { mask } }) => {
    const { uses, useOfLane } = gpuUsesOf(timeline);
    const isUsed = new Uint8Array(timeline.lanes.length);
    const { rows } = timeline;
    for (let row = 0; row < rows.count; row += 1) {
      if (mask === null || mask[row] === 1) isUsed[Number(rows.lane[row])] = 1;
    }
    return { timeline, uses, useOfLane, isUsed };
  });
  const used = found.flatMap(({ useOfLane, isUsed }, timeline) =>
    [...new Set(useOfLane.filter((_, lane) => isUsed[lane] === 1))].map((use) => ({ timeline, use })),
  );
  const streams = found.flatMap(({ isUsed }) => isUsed.filter((one) => one === 1).length);
  const byStream = used.length === 1 && streams.reduce((sum, count) => sum + count, 0) <= FEW_STREAMS;
  const lanes: StripLane[] = [];
  const laneOf = found.map(({ timeline, uses, useOfLane, isUsed }, position) => {
    const laneOfUse = new Map<number, number>();
    return Int32Array.from(timeline.lanes, ({ rank, device, stream }, lane) => {
      const use = Number(useOfLane[lane]);
      if (byStream) {
        if (isUsed[lane] === 0) return -1;
        return lanes.push({ timeline: position, rank, device, stream, busyNs: 0 }) - 1;
      }
      if (!used.some((one) => one.timeline === position && one.use === use)) return -1;
      const known = laneOfUse.get(use);
      if (known !== undefined) return known;
      const own = uses[use];
      const added = lanes.push({
        timeline: position,
        rank: own?.rank ?? null,
        device: own?.device ?? null,
        stream: null,
        busyNs: 0,
      });
      laneOfUse.set(use, added - 1);
      return added - 1;
    });
  });
  return { lanes, laneOf };
}

/** The heaviest lanes in their order, the heaviest stages by name, and the rest of the stages as one. */
function folded(
  lanes: readonly StripLane[],
  time: readonly Float64Array[],
  stageNs: Float64Array,
  names: readonly string[],
  bins: number,
): Pick<TimelineStrip, "stages" | "lanes" | "lanes_total"> {
  const byTime = names
    .map((name, position) => ({ name, position, ns: Number(stageNs[position]) }))
    .filter(({ name, ns }) => ns > 0 && name !== "outside")
    .sort(
      inOrder(
        byNumberDescending((one) => one.ns),
        byText((one) => one.name),
      ),
    );
  const named = byTime.length > STRIP_STAGES + 1 ? byTime.slice(0, STRIP_STAGES) : byTime;
  const groups = [
    ...named.map(({ name, position }) => ({ name, positions: [position] })),
    ...(byTime.length > named.length
      ? [{ name: "rest", positions: byTime.slice(named.length).map(({ position }) => position) }]
      : []),
    ...(Number(stageNs[0]) > 0 ? [{ name: "outside", positions: [0] }] : []),
  ];
  const shown = lanes
    .map((lane, position) => ({ lane, position }))
    .filter(({ lane }) => lane.busyNs > 0)
    .sort(
      inOrder(
        byNumberDescending((one) => one.lane.busyNs),
        byNumber((one) => one.position),
      ),
    )
    .slice(0, STRIP_LANES)
    .sort(byNumber((one) => one.position));
  return {
    stages: groups.map(({ name }) => name),
    lanes: shown.map(({ lane, position }) => ({
      timeline: lane.timeline,
      rank: lane.rank,
      device: lane.device,
      stream: lane.stream,
      busy: groups.map(({ positions }) =>
        Array.from({ length: bins }, (_, bin) => {
          const cells = time[position];
          const sum = positions.reduce((all, stage) => all + Number(cells?.[stage * bins + bin] ?? 0), 0);
          return Math.round(sum * 1000);
        }),
      ),
    })),
    lanes_total: lanes.filter(({ busyNs }) => busyNs > 0).length,
  };
}

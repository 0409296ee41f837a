import { byNumber, byNumberDescending, byText, inOrder } from "../../base/order.ts";
import type { Finding } from "../../model/finding.ts";
import { percent, roundHalfUp } from "../format.ts";
import { type Gaps, gapsOf, largestGaps } from "./gaps.ts";
import { type HostCall, type HostInGaps, hostInEach, hostInGaps } from "./host-in-gaps.ts";
import type { Source } from "./launches.ts";
import type { Idle, IdleGap } from "./ranking.ts";
import { finding, shortened } from "./refusal.ts";
import { BUSY_LEAST } from "./thresholds.ts";

const GAPS_LISTED = 10;
const HOST_NAMES_LISTED = 8;

/** Idle time of all timelines, and the time it is a part of. */
export interface IdleTimes {
  readonly idle: Idle;
  readonly wall_ns: number;
}

function gapAt(source: Source, timeline: number, gaps: Gaps, gap: number, host: HostInGaps): IdleGap {
  const { rows, names } = source.timeline;
  const [start, end] = [Number(gaps.gaps.start_ns[gap]), Number(gaps.gaps.end_ns[gap])];
  const use = gaps.uses[Number(gaps.gaps.use[gap])];
  const nameOf = (row: number): string => names[Number(rows.name[row])]?.display ?? "";
  return {
    timeline,
    start_us: (start - Number(rows.start_ns[0])) / 1000,
    duration_us: (end - start) / 1000,
    rank: use?.rank ?? null,
    device: use?.device ?? null,
    after: nameOf(Number(gaps.gaps.after[gap])),
    before: nameOf(Number(gaps.gaps.before[gap])),
    host,
  };
}

/** What the host did in all gaps of all timelines. */
function hostCalls(sources: readonly Source[], all: readonly Gaps[]): Idle["host"] {
  const byName = new Map<string, { calls: number; overlap_us: number }>();
  for (const [position, source] of sources.entries()) {
    const gaps = all[position];
    if (gaps === undefined) continue;
    const { calls, null_reason } = hostInGaps(source.timeline, gaps);
    if (calls === null) return { calls: null, null_reason };
    for (const call of calls) {
      const entry = byName.get(call.name) ?? { calls: 0, overlap_us: 0 };
      byName.set(call.name, { calls: entry.calls + call.calls, overlap_us: entry.overlap_us + call.overlap_us });
    }
  }
  const calls = [...byName]
    .map(([name, entry]): HostCall => ({ name, ...entry }))
    .sort(
      inOrder<HostCall>(
        byNumberDescending((call) => call.overlap_us),
        byText((call) => call.name),
      ),
    )
    .slice(0, HOST_NAMES_LISTED);
  return { calls, null_reason: null };
}

/** Idle gaps inside the window, and what the host called meanwhile. */
export function idleOf(sources: readonly Source[]): IdleTimes {
  const all = sources.map(({ timeline, lanes, selection }) => gapsOf(timeline, lanes.end_ns, selection));
  const wall = all.reduce((sum, { wall_ns }) => sum + wall_ns, 0);
  const total = all.reduce((sum, { idle_ns }) => sum + idle_ns, 0);
  const largest = sources
    .flatMap((source, timeline) => {
      const gaps = all[timeline];
      if (gaps === undefined) return [];
      const positions = largestGaps(gaps.gaps, GAPS_LISTED);
      const hosts = hostInEach(source.timeline, gaps, positions);
      return hosts.map((host, place) => gapAt(source, timeline, gaps, positions[place] ?? 0, host));
    })
    .sort(
      inOrder<IdleGap>(
        byNumberDescending((gap) => gap.duration_us),
        byNumber((gap) => gap.timeline),
        byNumber((gap) => gap.start_us),
        byNumber((gap) => gap.device),
      ),
    )
    .slice(0, GAPS_LISTED);
  const idle = {
    count: all.reduce((sum, { gaps }) => sum + gaps.count, 0),
    total_us: total / 1000,
    share_of_wall: wall > 0 ? total / wall : null,
    largest,
    host: hostCalls(sources, all),
  };
  return { idle, wall_ns: wall };
}

const TRACER =
  "under a tracer part of the idle time is the tracer's own, which slows every launch call, so take it as an upper bound";

/**
 * What stands first where the GPU does little: kernels are not the bottleneck. Where one gap makes it so (a stray event
 * far from the rest) the span says nothing, and that is said instead.
 */
export function idleFinding(idle: Idle, wallUs: number): Finding | null {
  if (wallUs <= 0) return null;
  const busy = 1 - idle.total_us / wallUs;
  if (busy >= BUSY_LEAST) return null;
  const [gap] = idle.largest;
  const evidence = {
    busy_share: busy,
    wall_us: wallUs,
    idle_us: idle.total_us,
    gaps: idle.count,
    largest_gap_us: gap?.duration_us ?? null,
    host: idle.host.calls?.[0]?.name ?? null,
  };
  const without = gap === undefined ? busy : (wallUs - idle.total_us) / (wallUs - gap.duration_us);
  if (gap !== undefined && without >= BUSY_LEAST) {
    const message = `the GPU is busy for ${percent(busy)} of the span, but one gap of ${roundHalfUp(gap.duration_us, 1)} us (after ${shortened(gap.after, 80)}) makes it so: without it ${percent(without)}. The span says nothing about idle time here; choose a window beside the gap`;
    return finding("span_holds_one_long_gap", "warning", message, { ...evidence, busy_share_without_gap: without });
  }
  const host = idle.host.calls?.[0];
  const meanwhile =
    host === undefined
      ? ""
      : ` Of the host's calls in that time ${host.name} took longest: ${roundHalfUp(host.overlap_us, 0)} of ${roundHalfUp(idle.total_us, 0)} us.`;
  const message = `the GPU is busy for ${percent(busy)} of the span: kernels are not the bottleneck here, what feeds them is; ${TRACER}.${meanwhile}`;
  return finding("gpu_mostly_idle", "warning", message, evidence);
}

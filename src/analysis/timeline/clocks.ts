import type { Timeline } from "../../model/timeline.ts";
import type { TimelineStrip } from "../../model/timeline-strip.ts";

/** Recorded clocks are believed where timelines laid by them cover at most so many times the longest of them. */
const CLOCKS_AGREE = 2;

/**
 * Nanoseconds that are added to the times of each timeline so that they have one axis: by the clocks that they recorded,
 * or, where these are not known or cannot belong to one run, each from its first activity.
 * @param extents first start and last end of each, in its own time; null for one without any.
 */
export function offsetsOf(
  timelines: readonly Pick<Timeline, "zero_unix_ns">[],
  extents: readonly (readonly [number, number] | null)[],
): { readonly by: TimelineStrip["aligned_by"]; readonly offsets: readonly number[] } {
  const zeros = timelines.map(({ zero_unix_ns }) => zero_unix_ns);
  const [origin] = zeros;
  if (origin !== undefined && origin !== null && zeros.every((zero) => zero !== null)) {
    const offsets = zeros.map((zero) => Number((zero ?? origin) - origin));
    const laid = extents.flatMap((extent, at) =>
      extent === null ? [] : [[extent[0] + (offsets[at] ?? 0), extent[1] + (offsets[at] ?? 0)] as const],
    );
    const covered = Math.max(...laid.map(([, end]) => end)) - Math.min(...laid.map(([start]) => start));
    const longest = Math.max(...laid.map(([start, end]) => end - start));
    if (covered <= CLOCKS_AGREE * longest) return { by: "clock", offsets };
  }
  return { by: "first_activity", offsets: extents.map((extent) => (extent === null ? 0 : -extent[0])) };
}

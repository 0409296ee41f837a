/**
 * Where a timeline stops being trusted. Signs and reactions: issues and guides of public tools that met them (named in
 * docs/timelines.md); the figures themselves are reasoned and not verified on a large set of traces unless said so.
 */

/** Clipped time of impossible durations over the recorded time of all kernels; above it there is no ranking. Not verified. */
export const CLIPPED_SHARE_REFUSED = 0.03;

/** One kernel over the time of all (AMD-AGI/Hyperloom#1116 saw 7 events make 62 %). Not verified. */
export const ONE_EVENT_SHARE = 0.9;
/** … and at least so many times the median of the other launches of its name. Not verified. */
export const ONE_EVENT_OVER_MEDIAN = 10;
/** For a name that was launched once: so many times the median of all other kernels, of which there must be some. Not verified. */
export const ONE_EVENT_OVER_OTHERS = 100;
export const ONE_EVENT_LEAST_OTHERS = 10;

/** Launch calls without a kernel up to this share are those that the window's end cut off. Not verified. */
export const MISSING_TOLERATED = 0.01;
/** Above it most are missing: no ranking. */
export const MISSING_REFUSED = 0.5;

/** Whole graphs without their kernels over kernels and whole graphs, in time. Above it the ranking would miss most. */
export const GRAPH_TIME_REFUSED = 0.5;

/** Fewest step marks from which empty steps are a sign of dropped kernels. Not verified. */
export const STEPS_FEWEST = 4;
export const STEPS_EMPTY_REFUSED = 0.5;
/** Share of kernels whose launch call is recorded, below which steps cannot be told. Not verified. */
export const CALLS_KNOWN_LEAST = 0.5;

/** Kernels of one stream that run past the next one, over all kernels: more are no few bad events but two programs. Not verified. */
export const MERGED_PAST_SHARE = 0.1;
/** The same where correlation ids are used twice as well. Not verified. */
export const MERGED_PAST_SHARE_WITH_SHARED_IDS = 0.01;
/** Overlap on streams over kernel time where correlation ids are used twice: more than programmatic launch explains. Not verified. */
export const MERGED_OVERLAP_SHARE_WITH_SHARED_IDS = 0.4;
/**
 * Correlation ids used twice over kernels: more are no graph replays from before the window, which are few and have many
 * kernels each. Not verified.
 */
export const MERGED_SHARED_IDS_SHARE = 0.25;
export const MERGED_SHARED_IDS_LEAST = 10;

/** Recorded and exclusive time differ by more: said beside the numbers. */
export const EXCLUSIVE_DIFFERS = 0.03;

/** GPU busy share of the span below which kernels are not the bottleneck (the project's order). */
export const BUSY_LEAST = 0.5;

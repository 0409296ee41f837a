import type { Timeline } from "../../model/timeline.ts";

/** A timeline to analyse, with the name under which its uploader knows it. */
export interface TimelineInput {
  readonly timeline: Timeline;
  readonly id: string | null;
  readonly sha256: string | null;
}

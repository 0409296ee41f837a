/** Tracks that one stream or thread gets at most; what overlaps more than so often shares the last. */
const MOST_TRACKS = 6;

/**
 * Places what overlaps on tracks of its own: viewers take the complete events of one thread as a call stack, so two that
 * overlap without one holding the other would be shown wrongly (Perfetto drops one). Asked in order of start.
 */
export class Tracks {
  /** Ends of what is still open, outermost first, by track. */
  readonly #open: number[][] = [];

  /** Position of the track on which the event can lie. */
  place(start: number, end: number): number {
    for (let track = 0; track < MOST_TRACKS; track += 1) {
      this.#open[track] ??= [];
      const open = this.#open[track] ?? [];
      while (open.length > 0 && (open.at(-1) ?? 0) <= start) open.pop();
      if (open.length === 0 || end <= (open.at(-1) ?? 0) || track === MOST_TRACKS - 1) {
        open.push(end);
        return track;
      }
    }
    return 0;
  }
}

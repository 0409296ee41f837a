import type { Dim3 } from "../../model/launch.ts";
import { NONE, type Timeline } from "../../model/timeline.ts";
import type { Item } from "../kernels.ts";
import { launchOrdinals } from "../timeline/measurable.ts";

/** A launch of a timeline. */
export interface TimelineRow {
  /** Position among the timelines. */
  readonly timeline: number;
  readonly row: number;
  readonly duration_ns: number;
  readonly grid: Dim3 | null;
  readonly block: Dim3 | null;
}

/** Where a launch with counters stands among the launches of its linker name. */
export interface PlannedLaunch {
  /** From 1; null: the report holds more launches of the name than ncu was asked for. */
  readonly ordinal: number | null;
  /** The launches of the timelines with this number: one a process. */
  readonly rows: readonly TimelineRow[];
}

/**
 * The launches of the timelines that the launches with counters are, where these were asked for by linker name and
 * number. ncu takes of each name the launches with the numbers that it has, in order, so the k-th result of a name (in
 * its process; failed ones count) is that of the k-th smallest number. Both tools count from where their window opens: measured with
 * ncu 2025.3.1 (`--profile-from-start off`) and nsys 2025.3.2 (`--capture-range=cudaProfilerApi`) on one program, whose
 * warm-up before the window launches the same kernels.
 */
export class PlannedLaunches {
  readonly #ordinals = new Map<Item, number | null>();
  readonly #rows: ReadonlyMap<string, TimelineRow[]>;

  constructor(ordinals: readonly number[], timelines: readonly Timeline[], items: readonly Item[]) {
    const asked = [...ordinals].sort((a, b) => a - b);
    const seen = new Map<string, number>();
    const names = new Set<string>();
    for (const item of items) {
      const { names: own, process_id } = item.launch;
      if (own.mangled === null) continue;
      names.add(own.mangled);
      const key = `${item.inputIndex} ${process_id} ${own.mangled}`;
      const place = seen.get(key) ?? 0;
      seen.set(key, place + 1);
      this.#ordinals.set(item, asked[place] ?? null);
    }
    this.#rows = rowsByNumber(timelines, names, new Set(asked));
  }

  /** Null for a launch without a linker name. */
  of(item: Item): PlannedLaunch | null {
    const ordinal = this.#ordinals.get(item);
    if (ordinal === undefined) return null;
    const rows = ordinal === null ? [] : (this.#rows.get(keyOf(item.launch.names.mangled ?? "", ordinal)) ?? []);
    return { ordinal, rows };
  }
}

const keyOf = (mangled: string, ordinal: number): string => `${ordinal} ${mangled}`;

function rowsByNumber(
  timelines: readonly Timeline[],
  wanted: ReadonlySet<string>,
  asked: ReadonlySet<number>,
): Map<string, TimelineRow[]> {
  const found = new Map<string, TimelineRow[]>();
  for (const [position, timeline] of timelines.entries()) {
    const { rows, names, shapes } = timeline;
    const ordinals = launchOrdinals(timeline);
    for (let row = 0; row < rows.count; row += 1) {
      const ordinal = Number(ordinals[row]);
      if (!asked.has(ordinal)) continue;
      const mangled = names[Number(rows.name[row])]?.mangled ?? null;
      if (mangled === null || !wanted.has(mangled)) continue;
      const shape = rows.shape[row] === NONE ? undefined : shapes[Number(rows.shape[row])];
      const key = keyOf(mangled, ordinal);
      const same = found.get(key) ?? [];
      found.set(key, same);
      same.push({
        timeline: position,
        row,
        duration_ns: Number(rows.end_ns[row]) - Number(rows.start_ns[row]),
        grid: shape?.grid ?? null,
        block: shape?.block ?? null,
      });
    }
  }
  return found;
}

import type { Finding } from "../../model/finding.ts";
import { percent } from "../format.ts";
import { nameKey } from "../names.ts";
import { KERNEL } from "./lanes.ts";
import type { Source } from "./launches.ts";
import { finding, shortened } from "./refusal.ts";

/** The kernels that together hold this share of the time are the hot ones. */
const HOT_SHARE = 0.5;

/** A window in which none of the kernels runs that hold half of the whole timeline's time; null where one does. */
export function hotKernelsMissed(sources: readonly Source[]): Finding | null {
  const kernels = new Map<string, { ns: number; inside: boolean }>();
  let [total, inside] = [0, 0];
  for (const { timeline, lanes, selection } of sources) {
    const { rows, names } = timeline;
    const keys = names.map((name) => nameKey(name).key);
    for (let row = 0; row < rows.count; row += 1) {
      if (rows.kind[row] !== KERNEL) continue;
      const key = keys[Number(rows.name[row])] ?? "";
      const entry = kernels.get(key) ?? { ns: 0, inside: false };
      kernels.set(key, entry);
      const ns = Number(lanes.exclusive_ns[row]);
      entry.ns += ns;
      total += ns;
      if (selection.mask !== null && selection.mask[row] === 0) continue;
      entry.inside = true;
      inside += ns;
    }
  }
  const ranked = [...kernels].sort(([a, x], [b, y]) => y.ns - x.ns || (a < b ? -1 : a > b ? 1 : 0));
  let covered = 0;
  for (const [, { ns, inside: isInside }] of ranked) {
    if (isInside) return null;
    covered += ns;
    if (covered >= HOT_SHARE * total) break;
  }
  if (total === 0) return null;
  const hottest = shortened(ranked[0]?.[0] ?? "");
  const message = `the window holds none of the kernels that make ${percent(covered / total)} of the timeline's kernel time (${hottest} first): it says nothing about what the whole costs`;
  return finding("window_misses_hot_kernels", "warning", message, {
    hottest,
    share_of_kernel_time_inside: inside / total,
  });
}

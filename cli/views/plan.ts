import { byNumberDescending, byText, inOrder } from "../../src/base/order.ts";
import { visibleText } from "../../src/charts/visible-text.ts";
import type { PipelinePlan } from "../../src/model/pipeline-plan.ts";
import type { PipelineResult } from "../../src/model/result.ts";
import { counted, formatTime } from "../format.ts";
import { paragraph } from "../layout.ts";
import { paint, type Terminal } from "../terminal.ts";

/** What the capture measured, what not and why, and how long each step took; nothing where it planned nothing. */
export function planView(terminal: Terminal, { plan, kernels }: PipelineResult): string[] {
  if (plan === null) return [];
  const parts = kernels.flatMap(({ detail }) => detail.shapes.flatMap(({ clusters }) => clusters));
  const measured = parts.filter(({ median_launch: launch }) => launch !== null).length;
  const asked = `${counted(plan.chosen.length, "cluster")} of ${counted(plan.kernels, "kernel")} chosen, ${counted(plan.launches, "launch", "launches")} asked for${plan.passes === null ? "" : ` in ${counted(plan.passes, "pass", "passes")} each`}; of the ${counted(parts.length, "cluster")} of the kernels above ${measured} got counters`;
  const steps = plan.steps.map(({ step, took_s: seconds }) => `${step} ${formatTime(seconds * 1e6)}`).join(", ");
  const lines = [asked, visibleText(plan.reason), ...leftOut(plan), ...plan.notes.map(visibleText)];
  return [
    paint(terminal, "bold", "What was measured"),
    ...lines.flatMap((line) => paragraph(terminal, "  ", line)),
    ...(steps === "" ? [] : paragraph(terminal, "  ", `Time: ${steps}`)),
    "",
  ];
}

/** By reason, most time first. */
function leftOut({ left_out: parts, left_out_more: more }: PipelinePlan): string[] {
  const groups = new Map<string, { because: string; count: number; us: number }>();
  for (const { reason, because, total_ns } of parts) {
    const key = `${reason} ${because}`;
    const group = groups.get(key) ?? { because, count: 0, us: 0 };
    groups.set(key, group);
    group.count += 1;
    group.us += total_ns / 1000;
  }
  const said = [...groups.values()]
    .sort(
      inOrder(
        byNumberDescending(({ us }) => us),
        byText(({ because }) => because),
      ),
    )
    .map(({ because, count, us }) => `not measured: ${count} (${formatTime(us)}), ${visibleText(because)}`);
  return more === 0 ? said : [...said, `not measured and not listed: ${more}`];
}

import { byNumber, byText, inOrder } from "../../src/base/order.ts";
import { visibleText } from "../../src/charts/visible-text.ts";
import type { Finding } from "../../src/model/finding.ts";
import type { KernelEntry, ProfileResult } from "../../src/model/result.ts";
import { paragraph } from "../layout.ts";
import { paint, type Style, type Terminal } from "../terminal.ts";

const SEVERITIES = ["error", "warning", "info"] as const;
const STYLES: Readonly<Record<Finding["severity"], Style>> = { error: "red", warning: "yellow", info: "dim" };

interface Group {
  readonly code: string;
  readonly severity: Finding["severity"];
  readonly first: Finding;
  count: number;
  readonly ranks: number[];
}

/**
 * What the numbers say about their own trustworthiness: one paragraph a code, the gravest first, with the kernels it
 * concerns by rank and the message of the first.
 */
export function findingsView(terminal: Terminal, result: ProfileResult): string[] {
  const entries: readonly KernelEntry[] = result.kind === "pipeline" ? result.kernels : [];
  const groups = new Map<string, Group>();
  const seen = new Set<string>();
  const add = (finding: Finding, rank: number | null): void => {
    const identity = JSON.stringify([finding.code, finding.launch, finding.message]);
    const key = `${finding.severity} ${finding.code}`;
    const group = groups.get(key) ?? {
      code: finding.code,
      severity: finding.severity,
      first: finding,
      count: 0,
      ranks: [],
    };
    groups.set(key, group);
    if (!seen.has(identity)) group.count++;
    seen.add(identity);
    if (rank !== null && !group.ranks.includes(rank)) group.ranks.push(rank);
  };
  entries.forEach((entry, index) => {
    for (const finding of entry.findings) add(finding, index + 1);
  });
  for (const finding of result.findings) add(finding, null);
  if (groups.size === 0) return [];
  const ordered = [...groups.values()].sort(
    inOrder(
      byNumber((group) => SEVERITIES.indexOf(group.severity)),
      byText((group) => group.code),
    ),
  );
  return [
    paint(terminal, "bold", "Findings"),
    ...ordered.flatMap((group) => {
      const where = group.ranks.length === 0 ? "" : ` (kernel ${group.ranks.join(", ")})`;
      const more = group.count > 1 ? ` [${group.count - 1} more of this kind]` : "";
      const text = `${group.severity} ${group.code}${where}: ${visibleText(group.first.message)}${more}`;
      return severityPainted(terminal, group.severity, paragraph(terminal, "  ", text));
    }),
    "",
  ];
}

/** The severity is the first word of the first line. */
function severityPainted(terminal: Terminal, severity: Finding["severity"], [first = "", ...rest]: string[]): string[] {
  return [first.replace(severity, paint(terminal, STYLES[severity], severity)), ...rest];
}

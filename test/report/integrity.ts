import type { Launch } from "../../src/model/launch.ts";
import type { Report } from "../../src/model/report.ts";

/** What does not hold for a report that must hold for every one, whatever was done to its bytes. */
export function integrityProblems(report: Report): string[] {
  const problems: string[] = [];
  const note = (holds: boolean, what: string): void => {
    if (!holds && problems.length < 20) problems.push(what);
  };
  const indices = report.launches.map(({ index }) => index);
  note(new Set(indices).size === indices.length, "indices repeat");
  note(
    indices.every((index, at) => at === 0 || index > (indices[at - 1] ?? 0)),
    "indices do not grow",
  );
  note(report.partial === (report.partial_at_byte !== null), "partial without an offset or the other way round");
  note(!report.partial || report.findings.length > 0, "partial without a finding");
  for (const launch of report.launches)
    launchProblems(launch, (holds, what) => note(holds, `${launch.index}: ${what}`));
  for (const { code, message, launch } of report.findings) {
    note(/^[a-z_]+$/.test(code) && message !== "", `finding ${code}`);
    note(launch === null || indices.includes(launch), `a finding of launch ${launch}`);
  }
  return problems;
}

function launchProblems(launch: Launch, note: (holds: boolean, what: string) => void): void {
  for (const dim of [launch.grid, launch.block]) {
    note(dim === null || (dim.length === 3 && dim.every((size) => size > 0)), `shape ${dim}`);
  }
  for (const id of [launch.process_id, launch.context_id, launch.stream_id, launch.device, launch.created_at_unix_s]) {
    note(id === null || (Number.isFinite(id) && id >= 0), `id ${id}`);
  }
  const names = [...launch.metrics.names()];
  note(new Set(names).size === names.length, "names repeat");
  for (const name of names) {
    const number = launch.metrics.number(name);
    const absence = launch.metrics.absence(name);
    note(number === null || Number.isFinite(number), `${name} is ${number}`);
    note((absence === null) === (number !== null) && absence !== "absent", `${name} is ${number} and ${absence}`);
    note((absence === "not_a_number") === (launch.metrics.text(name) !== null), `${name} is text and ${absence}`);
  }
  for (const hint of launch.hints) {
    note(hint.speedup_percent === null || Number.isFinite(hint.speedup_percent), "a speed-up that is no number");
    note(
      hint.evidence.every(({ value }) => value === null || Number.isFinite(value)),
      "evidence that is no number",
    );
  }
}

import { parse } from "csv-parse/sync";
import type { Launch } from "../../src/model/launch.ts";

/** One raw page in base units: NVIDIA's own export of a report. */
export interface Oracle {
  readonly rows: readonly Readonly<Record<string, string>>[];
  readonly metrics: readonly string[];
}

const IDENTIFICATION = new Set([
  "ID",
  "Process ID",
  "Process Name",
  "Host Name",
  "thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg",
  "Id:Domain:Start/Stop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg",
  "Kernel Name",
  "Context",
  "Stream",
  "Block Size",
  "Grid Size",
  "Device",
  "CC",
]);

export function readOracle(csv: Buffer): Oracle {
  // ncu does not double the quotes of range names.
  const text = csv.toString("utf8").replaceAll('with "quotes":', 'with ""quotes"":');
  const [header = [], , ...rows] = parse(text) as string[][];
  return {
    rows: rows.map((cells) => Object.fromEntries(header.map((name, column) => [name, cells[column] ?? ""]))),
    metrics: header.filter((name) => !IDENTIFICATION.has(name)),
  };
}

/** What a comparison saw, by kind of cell. */
export interface Compared {
  numbers: number;
  texts: number;
  nan: number;
  noData: number;
  empty: number;
  different: string[];
}

/** Compares every metric cell of a row with the launch. Numbers are printed with two decimals. */
export function compareRow(
  launch: Launch,
  row: Readonly<Record<string, string>>,
  oracle: Oracle,
  into: Compared,
): void {
  for (const name of oracle.metrics) {
    const cell = row[name] ?? "";
    const absence = launch.metrics.absence(name);
    const printed = Number(cell.replaceAll(",", ""));
    let same: boolean;
    if (cell === "" && absence !== "not_a_number") {
      into.empty += 1;
      same = absence === "instances_only" || absence === "absent";
    } else if (cell === "no data") {
      into.noData += 1;
      same = absence === "no_data";
    } else if (cell === "nan") {
      into.nan += 1;
      same = absence === "nan";
    } else if (absence === "not_a_number") {
      into.texts += 1;
      same = launch.metrics.text(name) === cell && launch.metrics.number(name) === null;
    } else {
      into.numbers += 1;
      const value = launch.metrics.number(name);
      same = value !== null && absence === null && Math.abs(value - printed) <= 0.005 + Math.abs(value) * 1e-12;
    }
    if (!same)
      into.different.push(`${launch.index} ${name}: ${cell} against ${launch.metrics.number(name)} (${absence})`);
  }
}

export const nothingCompared = (): Compared => ({ numbers: 0, texts: 0, nan: 0, noData: 0, empty: 0, different: [] });

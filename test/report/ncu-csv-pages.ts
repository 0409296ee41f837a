import { parse } from "csv-parse/sync";
import { expect } from "vitest";
import { openBuffer } from "../../src/base/file-source.ts";
import type { Launch } from "../../src/model/launch.ts";
import type { ReadFailure, ReadOptions, Report } from "../../src/model/report.ts";
import { DEFAULT_READ_LIMITS } from "../../src/model/report.ts";
import { isCsv, readCsv } from "../../src/report/ncu-csv/index.ts";
import { fixture, H200 } from "../helpers/fixtures.ts";

/** The pages that were printed from reports that are fixtures too. */
export const PAGES = [
  { page: "h200-full.raw.csv.gz", report: "h200-full.ncu-rep.gz", launches: 19, cells: 42_085 },
  { page: "h200-full.raw-base-units.csv.gz", report: "h200-full.ncu-rep.gz", launches: 19, cells: 42_085 },
  { page: "h200-full.details.csv.gz", report: "h200-full.ncu-rep.gz", launches: 19, cells: 1_596 },
  { page: "tiny-full.raw-base-units.csv.gz", report: "tiny-full.ncu-rep.gz", launches: 12, cells: 26_580 },
  { page: "tiny-killed.raw-base-units.csv.gz", report: "tiny-killed.ncu-rep.gz", launches: 5, cells: 11_075 },
  { page: "tiny-verdict.raw-base-units.csv.gz", report: "tiny-verdict.ncu-rep.gz", launches: 12, cells: 15_012 },
] as const;

export const pageText = (name: string): string => fixture(`${H200}${name}`).toString("utf8");

const bytesOf = (data: string | Uint8Array): Uint8Array =>
  typeof data === "string" ? Buffer.from(data, "utf8") : data;

export async function read(data: string | Uint8Array, options: Partial<ReadOptions> = {}): Promise<Report> {
  const result = await readCsv(openBuffer(bytesOf(data)), "none", { limits: DEFAULT_READ_LIMITS, ...options });
  if (!result.ok) throw new Error(`${result.error.code}: ${result.error.message}`);
  checkReport(result.value);
  return result.value;
}

export async function refusal(data: string | Uint8Array, options: Partial<ReadOptions> = {}): Promise<ReadFailure> {
  const result = await readCsv(openBuffer(bytesOf(data)), "none", { limits: DEFAULT_READ_LIMITS, ...options });
  if (result.ok) throw new Error(`read ${result.value.launches.length} launches`);
  expect(result.error.message).not.toBe("");
  expect(result.error.hint).not.toBe("");
  return result.error;
}

export const detected = (data: string | Uint8Array): ReturnType<typeof isCsv> => isCsv(bytesOf(data));

/** What holds for every report that is read, whatever the file. */
export function checkReport(report: Report): void {
  expect(report.launches.length).toBeGreaterThan(0);
  expect(report.launches.map(({ index }) => index)).toEqual(report.launches.map((_, position) => position));
  expect(report.partial).toBe(report.partial_at_byte !== null);
  for (const launch of report.launches) {
    for (const name of launch.metrics.names()) {
      const number = launch.metrics.number(name);
      const absence = launch.metrics.absence(name);
      if ((number === null) !== (absence !== null) || (number !== null && !Number.isFinite(number))) {
        throw new Error(`${name} is ${number}, absence ${absence}`);
      }
      if (!(launch.metrics.resolution(name) >= 0)) throw new Error(`resolution of ${name}`);
    }
  }
}

type Plain = Omit<Launch, "metrics" | "index"> & { readonly metrics: readonly (readonly [string, ...unknown[]])[] };

/** A launch as plain data, metrics by name. `resolution: false` leaves out what saving a page again loses. */
export function plain(launch: Launch, resolution = true): Plain {
  const { metrics, index: _index, ...rest } = launch;
  const list = [...metrics.names()].sort().map((name) => {
    const values = [metrics.number(name), metrics.text(name), metrics.absence(name)];
    return [name, ...values, ...(resolution ? [metrics.resolution(name)] : [])] as const;
  });
  return { ...rest, metrics: list };
}

export const plainLaunches = (report: Report, resolution = true): Plain[] =>
  report.launches.map((launch) => plain(launch, resolution));

/** The same launches, metric by metric; says the first difference. Forty thousand cells take `toEqual` seconds. */
export function expectSame(actual: readonly Plain[], expected: readonly Plain[]): void {
  expect(actual).toHaveLength(expected.length);
  actual.forEach((launch, at) => {
    const { metrics, ...rest } = launch;
    const { metrics: wanted, ...restWanted } = expected[at]!;
    expect(rest).toEqual(restWanted);
    const found = metrics.map((metric) => JSON.stringify(metric));
    const difference = wanted.findIndex((metric, place) => JSON.stringify(metric) !== found[place]);
    if (difference >= 0) expect([at, metrics[difference]]).toEqual([at, wanted[difference]]);
    expect(metrics).toHaveLength(wanted.length);
  });
}

/** The table as cells, by another library than ours. */
export const tableOf = (text: string): string[][] => parse(text, { relax_column_count: true }) as string[][];

/** As Nsight Compute writes: every cell quoted. */
export const quoted = (rows: readonly (readonly string[])[], delimiter = ","): string =>
  rows.map((row) => `${row.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(delimiter)}\n`).join("");

/** As pandas and spreadsheets write: quotes only where they must be. */
export const unquoted = (rows: readonly (readonly string[])[], delimiter = ","): string =>
  rows
    .map((row) => {
      const cells = row.map((cell) =>
        /["\n]/.test(cell) || cell.includes(delimiter) ? `"${cell.replaceAll('"', '""')}"` : cell,
      );
      return `${cells.join(delimiter)}\n`;
    })
    .join("");

/** A details page of one metric a row, for small cases. */
export function details(
  rows: readonly { id?: string; name?: string; metric: string; unit?: string; value: string; section?: string }[],
): string {
  const header = ["ID", "Process ID", "Kernel Name", "Section Name", "Metric Name", "Metric Unit", "Metric Value"];
  return quoted([
    header,
    ...rows.map(
      ({ id = "0", name = "k(int)", metric, unit = "", value, section = "Command line profiler metrics" }) => [
        id,
        "7",
        name,
        section,
        metric,
        unit,
        value,
      ],
    ),
  ]);
}

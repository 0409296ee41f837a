import { type Row, splitRow } from "../../base/csv-row.ts";

/** What a column of a table of `nsys stats` holds. Others are not looked at. */
export type Role =
  | "percent"
  | "total"
  | "instances"
  | "mean"
  | "median"
  | "min"
  | "max"
  | "stddev"
  | "name"
  | "start"
  | "duration"
  | "grid_x"
  | "grid_y"
  | "grid_z"
  | "block_x"
  | "block_y"
  | "block_z"
  | "registers"
  | "static_memory"
  | "dynamic_memory"
  | "bytes"
  | "device"
  | "context"
  | "stream";

export interface Column {
  readonly index: number;
  /** Power of ten from the printed unit to the base unit (ns, bytes); null where the unit is not known. */
  readonly shift: number | null;
}

/** How one table is laid out. */
export interface Layout {
  /** `sum`: kernels by name (`cuda_gpu_kern_sum`, `gpukernsum`, `cuda_gpu_kern_gb_sum`); `trace`: `cuda_gpu_trace`. */
  readonly kind: "sum" | "trace";
  /** Rows by name, grid and block: several of one name. */
  readonly isByShape: boolean;
  readonly roles: ReadonlyMap<Role, Column>;
  readonly width: number;
  /** Takes a line apart; null where its cells do not stand under the header. */
  readonly split: (line: string) => Row | null;
}

/** Spellings from 2020 (`Average`, `Duration(nsec)`) to 2026, without units. */
const ROLES: Readonly<Record<string, Role>> = {
  time: "percent",
  "total time": "total",
  instances: "instances",
  average: "mean",
  avg: "mean",
  median: "median",
  med: "median",
  minimum: "min",
  min: "min",
  maximum: "max",
  max: "max",
  stddev: "stddev",
  name: "name",
  start: "start",
  duration: "duration",
  grdx: "grid_x",
  grdy: "grid_y",
  grdz: "grid_z",
  blkx: "block_x",
  blky: "block_y",
  blkz: "block_z",
  "reg/trd": "registers",
  stcsmem: "static_memory",
  dymsmem: "dynamic_memory",
  bytes: "bytes",
  device: "device",
  ctx: "context",
  strm: "stream",
};

/** Columns of summaries that have the same beginning and count something else: ranges of NVTX, GPU work with copies. */
const FOREIGN = /^(?:style|range|operation|category|pid|tid|num calls|nvtx.*|kern inst|api.*)$/;
const SHAPE = /^(?:gridxyz|blockxyz|grid|block)$/;

/** Units of the headers; the oldest tables have none and count nanoseconds and bytes. */
const SHIFTS: Readonly<Record<string, number>> = {
  ns: 0,
  nsec: 0,
  us: 3,
  usec: 3,
  μs: 3,
  µs: 3,
  ms: 6,
  msec: 6,
  s: 9,
  sec: 9,
  b: 0,
  bytes: 0,
  "%": 0,
};
const HEADER = /^([^()]{1,40}?)\s*(?:\(([^()]{1,16})\))?$/;
const DELIMITERS = [",", "\t", ";"] as const;
/** Lines longer than this are no header: the widest one has some 250 characters in CSV, more in columns. */
const LONGEST_HEADER = 4000;

/** The layout where a line is the header of a table with separators that this reader takes; else null. */
export function readCsvHeader(line: string): Layout | null {
  if (line.length > LONGEST_HEADER || !/name/i.test(line)) return null;
  for (const delimiter of DELIMITERS) {
    if (!line.includes(delimiter)) continue;
    const { cells, open } = splitRow(line, delimiter);
    if (open) continue;
    const layout = layoutOf(cells, (row) => splitRow(row, delimiter));
    if (layout !== null) return layout;
  }
  return null;
}

/** Runs of dashes below a header, each as wide as its column. */
export const isRule = (line: string): boolean => line.length <= 100_000 && /^ *-+(?: +-+)+ *$/.test(line);

/** The layout of a table in columns; null where it is none that this reader takes. */
export function readColumnHeader(header: string, rule: string): Layout | null {
  if (header.length > LONGEST_HEADER) return null;
  const columns: { readonly from: number; readonly to: number }[] = [];
  for (const run of rule.matchAll(/-+/g)) columns.push({ from: run.index, to: run.index + run[0].length });
  const cut = (line: string): string[] =>
    columns.map(({ from, to }, at) => line.slice(from, at === columns.length - 1 ? undefined : to).trim());
  return layoutOf(cut(header), (line) => {
    const isAligned = columns.every(({ to }, at) => {
      const next = columns[at + 1];
      return next === undefined || line.slice(to, next.from).trim() === "";
    });
    const isIndented = line.slice(0, columns[0]?.from).trim() === "";
    return isAligned && isIndented ? { cells: cut(line), open: false, lastClosed: true } : null;
  });
}

function layoutOf(headers: readonly string[], split: Layout["split"]): Layout | null {
  const roles = new Map<Role, Column>();
  let isForeign = false;
  let isByShape = false;
  for (const [index, header] of headers.entries()) {
    const [, name = "", unit] = HEADER.exec(header.trim()) ?? [];
    const word = name.toLowerCase();
    if (FOREIGN.test(word)) isForeign = true;
    if (SHAPE.test(word)) isByShape = true;
    const role = ROLES[word];
    if (role === undefined || roles.has(role)) continue;
    roles.set(role, { index, shift: unit === undefined ? 0 : (SHIFTS[unit.toLowerCase()] ?? null) });
  }
  const has = (...wanted: Role[]): boolean => wanted.every((role) => roles.has(role));
  const base = { roles, width: headers.length, split, isByShape };
  if (has("name", "total", "instances") && !isForeign) return { kind: "sum", ...base };
  if (has("name", "duration") && (has("grid_x") || has("stream"))) return { kind: "trace", ...base };
  return null;
}

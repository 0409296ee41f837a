import { baseName } from "../../model/kernel-name.ts";
import type { Dim3, KernelNames, LaunchKind, NvtxRange } from "../../model/launch.ts";
import { readNvtxCell } from "./nvtx.ts";
import type { Header } from "./page.ts";

/** Columns that say which launch a row is about. All others of a raw page are metrics. */
const NAMES = [
  "ID",
  "Process ID",
  "Process Name",
  "Host Name",
  "Kernel Name",
  "Kernel Time",
  "Context",
  "Stream",
  "Block Size",
  "Grid Size",
  "Device",
  "CC",
  "thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg",
  "Id:Domain:Start/Stop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg",
] as const;
const IDENTIFICATION: ReadonlySet<string> = new Set(NAMES);

/** True for an identification column, and for the index column that pandas puts in front (no name, or `Unnamed: 0`). */
export const isIdentification = (column: string): boolean =>
  IDENTIFICATION.has(column) || column === "" || /^Unnamed: \d+$/.test(column);

/** What the identification columns say of a launch. */
export interface Identity {
  readonly kind: LaunchKind;
  readonly names: KernelNames;
  readonly grid: Dim3 | null;
  readonly block: Dim3 | null;
  /** True where grid and block are printed as zeros: the launch failed, or it is several kernels measured as one. */
  readonly shapeless: boolean;
  readonly process_id: number | null;
  readonly context_id: number | null;
  readonly stream_id: number | null;
  readonly device: number | null;
  readonly nvtx: readonly NvtxRange[];
  /** `9.0` as [9, 0]. */
  readonly capability: readonly [number, number] | null;
}

/** How many distinct texts are kept to be shared; a report of an hour of serving has some hundred kernels. */
const MOST_SHARED = 10_000;

/** Reads identification columns by their header text. */
export class IdentityReader {
  readonly #at: Readonly<Record<(typeof NAMES)[number], number>>;
  readonly #full: boolean;
  readonly #names = new Map<string, KernelNames>();
  readonly #nvtx = new Map<string, readonly NvtxRange[]>();

  constructor(header: Header) {
    this.#at = Object.fromEntries(NAMES.map((name) => [name, header.columns.indexOf(name)])) as Record<
      (typeof NAMES)[number],
      number
    >;
    // Pages with the date of the launch are from versions that do not simplify names yet (2022 and older).
    this.#full = this.#at["Kernel Time"] >= 0;
  }

  /** Column of the launch number, or -1. */
  get idColumn(): number {
    return this.#at.ID;
  }

  /** Column of the kernel's name. */
  get nameColumn(): number {
    return this.#at["Kernel Name"];
  }

  /** Column of the last identification cell that a launch has. */
  get lastColumn(): number {
    return Math.max(...Object.values(this.#at));
  }

  /** The launch number of a row, null where the cell is no number (a unit row, program output). */
  id(cells: readonly string[]): string | null {
    const match = /^(\d{1,15})(?:\.0+)?$/.exec((cells[this.#at.ID] ?? "").trim());
    return match?.[1] ?? null;
  }

  process(cells: readonly string[]): string {
    return cells[this.#at["Process ID"]] ?? "";
  }

  read(cells: readonly string[]): Identity {
    const cell = (name: (typeof NAMES)[number]): string => (cells[this.#at[name]] ?? "").trim();
    const grid = readDim3(cell("Grid Size"));
    const block = readDim3(cell("Block Size"));
    const shapeless = grid !== null && grid[0] === 0 && block !== null && block[0] === 0;
    const capability = /^(\d{1,3})\.(\d{1,2})$/.exec(cell("CC"));
    const printed = cell("Kernel Name");
    // Pages of ranges alone leave the shape columns out; pages older than these columns have no Device column either.
    const mayLackShape = this.#at["Grid Size"] >= 0 || this.#at.Device >= 0;
    return {
      kind: shapeless || (grid === null && mayLackShape) ? kindOf(printed) : "kernel",
      names: this.#namesOf(printed),
      grid: shapeless ? null : grid,
      block: shapeless ? null : block,
      shapeless,
      process_id: readCount(cell("Process ID")),
      context_id: readCount(cell("Context")),
      stream_id: readCount(cell("Stream")),
      device: readCount(cell("Device")),
      nvtx: this.#nvtxOf(cell("thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg")),
      capability: capability ? [Number(capability[1]), Number(capability[2])] : null,
    };
  }

  #namesOf(printed: string): KernelNames {
    const known = this.#names.get(printed);
    if (known) return known;
    const display = detached(printed);
    const mangled = display.startsWith("_Z") ? display : null;
    const full = mangled === null && (this.#full || hasCasts(display)) && display.includes("(");
    const names: KernelNames = {
      mangled,
      function: display === "" ? null : detached(baseName(display)),
      demangled: full ? display : null,
      display,
      simplified: !full && mangled === null,
    };
    if (this.#names.size < MOST_SHARED) this.#names.set(display, names);
    return names;
  }

  #nvtxOf(cell: string): readonly NvtxRange[] {
    if (cell === "") return [];
    const known = this.#nvtx.get(cell);
    if (known) return known;
    const ranges = readNvtxCell(cell).map(({ domain, name }) => ({ domain: detached(domain), name: detached(name) }));
    if (this.#nvtx.size < MOST_SHARED) this.#nvtx.set(detached(cell), ranges);
    return ranges;
  }
}

/**
 * A text without the line it was cut out of: engines keep the whole line alive for a part of it.
 */
export const detached = (text: string): string => (text === "" ? "" : ` ${text}`.slice(1));

/** The simplifying of names drops the casts of template values: `<(int)4>` is a full name, `<4>` may be one. */
const hasCasts = (name: string): boolean =>
  /[<,] ?\((?:unsigned |signed )?(?:int|long|short|char|bool|long long)\)\d/.test(name);

/** Results over several kernels have no kernel name and no shape; Nsight Compute 2025.3.1 prints their kind instead. */
function kindOf(printed: string): LaunchKind {
  return printed === "graph" || printed === "range" || printed === "cmdlist" ? printed : "kernel";
}

/** `(128, 1, 1)`; null where the cell is something else. */
function readDim3(cell: string): Dim3 | null {
  const match = /^\(?\s*(\d{1,10})\s*,\s*(\d{1,10})\s*,\s*(\d{1,10})\s*\)?$/.exec(cell);
  return match ? [Number(match[1]), Number(match[2]), Number(match[3])] : null;
}

/** A number that names something. pandas turns a column with a gap into decimals: `509.0`. */
function readCount(cell: string): number | null {
  const match = /^(\d{1,15})(?:\.0+)?$/.exec(cell);
  return match ? Number(match[1]) : null;
}

import { textWidth, truncate } from "../src/charts/visible-text.ts";
import { paint, type Style, type Terminal } from "./terminal.ts";

export interface Cell {
  readonly text: string;
  readonly style?: Style;
}

export interface Column {
  readonly title: string;
  readonly align: "left" | "right";
  /** The one column that gives way where the terminal is narrow. */
  readonly flexible?: boolean;
  /** May go where even that is not enough, the largest number first. */
  readonly drop?: number;
}

/** From this width on numbers get as much space as words. */
const ROOMY = 100;
const NARROWEST_COLUMN = 12;

const space = (text: string, width: number): string => " ".repeat(Math.max(0, width - textWidth(text)));

interface Track extends Column {
  readonly cells: readonly Cell[];
  readonly width: number;
}

/** Lines of a table as wide as its content, at most as wide as the terminal where columns may give way. */
export function table(terminal: Terminal, columns: readonly Column[], rows: readonly (readonly Cell[])[]): string[] {
  let tracks: Track[] = columns.map((column, index) => {
    const cells = rows.map((row) => row[index] ?? { text: "" });
    const width = cells.reduce((most, { text }) => Math.max(most, textWidth(text)), textWidth(column.title));
    return { ...column, cells: [{ text: column.title, style: "dim" }, ...cells], width };
  });
  const narrowest = ({ flexible, width }: Track): number => (flexible ? Math.min(width, NARROWEST_COLUMN) : width);
  while (lineWidth(terminal, tracks, narrowest) > terminal.width) {
    const last = tracks.reduce((most, { drop = 0 }) => Math.max(most, drop), 0);
    if (last === 0) break;
    tracks = tracks.filter(({ drop }) => drop !== last);
  }
  const excess = lineWidth(terminal, tracks, ({ width }) => width) - terminal.width;
  if (excess > 0) {
    tracks = tracks.map((track) =>
      track.flexible ? { ...track, width: Math.max(narrowest(track), track.width - excess) } : track,
    );
  }
  return [-1, ...rows.keys()].map((row) =>
    tracks
      .map((track, index) => gap(terminal, tracks, index) + cellText(terminal, track, track.cells[row + 1]))
      .join("")
      .trimEnd(),
  );
}

/** Neighbouring numbers stand closer where space is short. */
function gap(terminal: Terminal, tracks: readonly Track[], index: number): string {
  if (index === 0) return "";
  const numbers = tracks[index]?.align === "right" && tracks[index - 1]?.align === "right";
  return numbers && terminal.width < ROOMY ? " " : "  ";
}

const lineWidth = (terminal: Terminal, tracks: readonly Track[], width: (track: Track) => number): number =>
  tracks.reduce((sum, track, index) => sum + gap(terminal, tracks, index).length + width(track), 0);

function cellText(terminal: Terminal, { align, width }: Track, cell: Cell = { text: "" }): string {
  const text = truncate(cell.text, width);
  const styled = cell.style === undefined ? text : paint(terminal, cell.style, text);
  return align === "left" ? styled + space(text, width) : space(text, width) + styled;
}

/** Words into lines of at most `width` columns; a word that is longer alone is broken. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ").flatMap((one) => broken(one, width))) {
    if (line !== "" && textWidth(line) + 1 + textWidth(word) > width) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line];
}

function broken(word: string, width: number): string[] {
  if (textWidth(word) <= width) return [word];
  const parts: string[] = [];
  let part = "";
  for (const character of word) {
    if (textWidth(part + character) > width) {
      parts.push(part);
      part = "";
    }
    part += character;
  }
  return [...parts, part];
}

/** A paragraph with `first` before its first line and spaces of the same width before the others. */
export function paragraph(terminal: Terminal, first: string, text: string, style?: Style): string[] {
  const indent = " ".repeat(textWidth(first));
  return wrap(text, terminal.width - indent.length).map((line, index) => {
    const styled = style === undefined ? line : paint(terminal, style, line);
    return `${index === 0 ? first : indent}${styled}`;
  });
}

/** Lines of `label  value`, labels of equal width. */
export function pairs(terminal: Terminal, rows: readonly (readonly [string, string])[]): string[] {
  const width = rows.reduce((most, [label]) => Math.max(most, textWidth(label)), 0);
  return rows.flatMap(([label, value]) => paragraph(terminal, `  ${label}${space(label, width)}  `, value));
}

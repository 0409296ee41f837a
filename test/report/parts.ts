import type { OpenBytes } from "../../src/base/bytes.ts";

/** Bytes that lie in several buffers, as one source. What is read across a seam is copied, nothing else. */
export const openParts =
  (parts: readonly Buffer[]): OpenBytes =>
  async () => {
    const size = parts.reduce((sum, part) => sum + part.length, 0);
    let position = 0;
    return {
      size,
      get position() {
        return position;
      },
      async read(length) {
        const end = Math.min(size, position + length);
        const pieces: Buffer[] = [];
        let start = 0;
        for (const part of parts) {
          const piece = part.subarray(Math.max(0, position - start), Math.max(0, end - start));
          if (piece.length > 0) pieces.push(piece);
          start += part.length;
        }
        position = end;
        return pieces.length === 1 ? (pieces[0] ?? Buffer.alloc(0)) : Buffer.concat(pieces);
      },
      async skip(length) {
        const moved = Math.min(length, size - position);
        position += moved;
        return moved;
      },
      async close() {},
    };
  };

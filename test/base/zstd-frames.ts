const MAX_BLOCK = 128 * 1024;

/** A zstd frame (RFC 8878) of raw blocks, for tests that need one without a compressor; `blocks` replace the content. */
export function zstdFrame(content: Uint8Array, blocks: readonly Uint8Array[] = rawBlocks(content)): Buffer {
  // Magic number, no content size, no checksum, a window of 1 MiB.
  const header = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x50]);
  const end = Buffer.from([1, 0, 0]);
  return Buffer.concat([header, ...blocks, end]);
}

/** RLE_Block: four bytes that stand for `count`. */
export function repeatedBlock(byte: number, count: number): Buffer {
  const block = Buffer.alloc(4);
  block.writeUIntLE((count << 3) | (1 << 1), 0, 3);
  block[3] = byte;
  return block;
}

function rawBlocks(content: Uint8Array): Buffer[] {
  const blocks: Buffer[] = [];
  for (let at = 0; at < content.length; at += MAX_BLOCK) {
    const part = content.subarray(at, at + MAX_BLOCK);
    const header = Buffer.alloc(3);
    header.writeUIntLE(part.length << 3, 0, 3);
    blocks.push(Buffer.concat([header, part]));
  }
  return blocks;
}

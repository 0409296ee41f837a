import { type ByteSource, BytesError } from "../../base/bytes.ts";
import { type BlockHeader, ENTRY_KINDS, type EntryKind, readBlockHeader } from "./block-header.ts";
import type { Session } from "./session.ts";
import { Wire, WireError } from "./wire.ts";

/** `NVR` and a zero byte. */
export const MAGIC = Uint8Array.of(0x4e, 0x56, 0x52, 0x00);

/** FileHeader field 1 in every known report, from Nsight Compute 2020.3 to 2025.3.1. */
export const FILE_VERSION = 7;

const MIB = 1024 ** 2;
/** A file header holds one small number. */
const MAX_FILE_HEADER = 64 * 1024;
/** The largest known block header, with all strings of a report, has 0.2 MB. */
const MAX_BLOCK_HEADER = 16 * MIB;
/** The largest known result has 4.7 MB. A result is held in memory while it is read; larger ones are passed over. */
export const MAX_RESULT = 64 * MIB;
/** Bytes of the length in front of an entry. */
const ENTRY_PREFIX = 4;

/** Reading ends here: the file is `cut` inside a block, or the block is `damaged`. `at`: where the block starts. */
export class Stop extends Error {
  readonly kind: "cut" | "damaged";
  readonly at: number;

  constructor(kind: Stop["kind"], at: number, what: string) {
    super(what);
    this.name = "Stop";
    this.kind = kind;
    this.at = at;
  }
}

/** One entry of a payload. `kind` is null for entries that no known counter announces. */
export interface Entry {
  readonly kind: EntryKind | null;
  readonly offset: number;
  readonly size: number;
}

/**
 * Walks a report: 4 bytes magic, a FileHeader, then blocks until the end of the file, each a BlockHeader and a payload
 * of entries; every length is a little-endian 32-bit number (Nsight Compute, ProfilerReport.proto and its notes). There
 * is no index, no checksum and no end mark: only an end between two blocks is an end.
 *
 * Device code is never read: a payload that holds nothing else is skipped as a whole.
 */
export class Container {
  readonly #source: ByteSource;
  readonly #session: Session;
  /** Where the block at hand starts. */
  #blockStart = 0;
  #header: BlockHeader | null = null;
  #payloadLeft = 0;
  #entryIndex = 0;
  #trailing: string | null = null;

  constructor(source: ByteSource, session: Session) {
    this.#source = source;
    this.#session = session;
  }

  get position(): number {
    return this.#source.position;
  }

  /** What was found behind compressed data that were complete and ended with a block; else null. */
  get trailing(): string | null {
    return this.#trailing;
  }

  /** Reads the file header behind the magic bytes and returns the file's version, null where there is none to read. */
  async fileVersion(): Promise<number | null> {
    const magic = await this.#read(MAGIC.length + 4);
    if (magic === null) return null;
    const length = uint32(magic, MAGIC.length);
    if (length > MAX_FILE_HEADER) return null;
    const bytes = await this.#read(length);
    if (bytes === null) return null;
    try {
      const wire = new Wire(bytes);
      let version: number | null = null;
      wire.fields((field) => {
        if (field === 1) version = wire.uint();
        else wire.skip();
      });
      return version;
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      return null;
    }
  }

  /** The next block's header, or null at the end of the file. Entries of the block before must have been taken. */
  async nextBlock(): Promise<{ offset: number; header: BlockHeader } | null> {
    this.#blockStart = this.#source.position;
    const prefix = await this.#blockPrefix();
    if (prefix.length === 0) return null;
    if (prefix.length < 4) throw this.#cut(`${prefix.length} of the 4 bytes of a block's length`);
    const length = uint32(prefix, 0);
    if (length === 0) throw this.#damaged("a block header of 0 bytes");
    if (length > this.#left()) throw this.#cut(`a block header of ${length} bytes where ${this.#left()} are left`);
    if (length > MAX_BLOCK_HEADER) throw this.#damaged(`a block header of ${length} bytes`);
    const bytes = await this.#bytes(length);
    if (bytes.length < length) throw this.#cut(`${bytes.length} of ${length} bytes of a block header`);
    const header = this.#decode("block header", 0, () => readBlockHeader(new Wire(bytes), this.#session));
    if (header.payloadSize > this.#left()) {
      throw this.#cut(`a payload of ${header.payloadSize} bytes where ${this.#left()} are left`);
    }
    this.#header = header;
    this.#payloadLeft = header.payloadSize;
    this.#entryIndex = 0;
    const [sources = 0, ...results] = header.counts;
    const onlySources = header.unknownCount === 0 && results.every((count) => count === 0);
    if (onlySources && sources > 0 && sources * ENTRY_PREFIX <= this.#payloadLeft) {
      await this.#skip(this.#payloadLeft);
      this.#payloadLeft = 0;
      this.#entryIndex = sources;
    }
    return { offset: this.#blockStart, header };
  }

  /** The next entry of the block at hand, or null behind its last. Take its bytes with `take` or pass with `pass`. */
  async nextEntry(): Promise<Entry | null> {
    if (this.#payloadLeft === 0) return null;
    if (this.#payloadLeft < ENTRY_PREFIX)
      throw this.#damaged(`${this.#payloadLeft} stray bytes behind the entries of a payload`);
    const prefix = await this.#bytes(ENTRY_PREFIX);
    if (prefix.length < ENTRY_PREFIX) throw this.#cut("the end of the file inside a payload");
    const size = uint32(prefix, 0);
    this.#payloadLeft -= ENTRY_PREFIX;
    if (size > this.#payloadLeft) {
      throw this.#damaged(`an entry of ${size} bytes in a payload with ${this.#payloadLeft} bytes left`);
    }
    const entry = { kind: this.#kindOf(this.#entryIndex), offset: this.#source.position, size };
    this.#payloadLeft -= size;
    this.#entryIndex += 1;
    return entry;
  }

  /** Entries that the counters announced, less those that were there: 0 where they agree. */
  missingEntries(): number {
    const announced = this.#header === null ? 0 : this.#header.counts.reduce((sum, count) => sum + count, 0);
    return announced + (this.#header?.unknownCount ?? 0) - this.#entryIndex;
  }

  /** Gives the bytes of an entry, at most {@link MAX_RESULT}, to `read`; they are valid only during that call. */
  async take<T>(entry: Entry, read: (bytes: Uint8Array) => T): Promise<T> {
    const bytes = await this.#bytes(entry.size);
    if (bytes.length < entry.size) throw this.#cut("the end of the file inside a result");
    return this.#decode(`${entry.kind ?? "unknown"} entry`, entry.offset, () => read(bytes));
  }

  async pass(entry: Entry): Promise<void> {
    await this.#skip(entry.size);
  }

  /** Passes what is left of the block at hand. */
  async passBlock(): Promise<void> {
    await this.#skip(this.#payloadLeft);
    this.#payloadLeft = 0;
  }

  #kindOf(index: number): EntryKind | null {
    let end = 0;
    for (let at = 0; at < ENTRY_KINDS.length; at += 1) {
      end += this.#header?.counts[at] ?? 0;
      if (index < end) return ENTRY_KINDS[at]?.kind ?? null;
    }
    return null;
  }

  #decode<T>(what: string, offset: number, read: () => T): T {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      throw this.#damaged(
        `${what}${offset > 0 ? ` at byte ${offset}` : ""}: ${error.message} (byte ${error.at} of it)`,
      );
    }
  }

  #left(): number {
    return this.#source.size === null ? Number.POSITIVE_INFINITY : this.#source.size - this.#source.position;
  }

  async #skip(length: number): Promise<void> {
    const moved = await this.#guard(() => this.#source.skip(length));
    if (moved < length) throw this.#cut("the end of the file inside a payload");
  }

  /** Only between two blocks is an end of the data an end, whatever lies behind it. */
  async #blockPrefix(): Promise<Uint8Array> {
    return this.#guard(async () => {
      try {
        return await this.#exactly(4);
      } catch (error) {
        const isEnd = this.#source.position === this.#blockStart;
        if (!(error instanceof BytesError && error.code === "trailing" && isEnd)) throw error;
        this.#trailing = error.message;
        return new Uint8Array(0);
      }
    });
  }

  /** `length` bytes or null. */
  async #read(length: number): Promise<Uint8Array | null> {
    const bytes = await this.#source.read(length);
    return bytes.length < length ? null : bytes;
  }

  #bytes(length: number): Promise<Uint8Array> {
    return this.#guard(() => this.#exactly(length));
  }

  /** `length` bytes, fewer only at the end of the data. Rejects where the data break before. */
  async #exactly(length: number): Promise<Uint8Array> {
    const bytes = await this.#source.read(length);
    if (bytes.length === 0 || bytes.length === length) return bytes;
    const kept = bytes.slice();
    await this.#source.read(1);
    return kept;
  }

  /** Compressed data that end too early cut the report there, damaged ones damage the block. */
  async #guard<T>(read: () => Promise<T>): Promise<T> {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof BytesError) || error.code === "too_large") throw error;
      throw error.code === "damaged" ? this.#damaged(error.message) : this.#cut(error.message);
    }
  }

  #cut(what: string): Stop {
    return new Stop("cut", this.#blockStart, what);
  }

  #damaged(what: string): Stop {
    return new Stop("damaged", this.#blockStart, what);
  }
}

function uint32(bytes: Uint8Array, at: number): number {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(at, true);
}

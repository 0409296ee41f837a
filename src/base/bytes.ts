/**
 * A sequence of bytes read from front to back. Skipping is part of the contract, so that a file seeks where a
 * decompressed stream has to discard. Nothing here knows a format.
 */
export interface ByteSource {
  /** Bytes in all, or null where only reading to the end tells (a decompressed stream). */
  readonly size: number | null;
  /** Offset of the next byte. */
  readonly position: number;
  /**
   * The next `length` bytes, fewer only at the end of the data or where the data break: then the next call throws. The
   * view stays valid until the next call on this source: who keeps bytes copies them.
   */
  read(length: number): Promise<Uint8Array>;
  /** Moves on by `length` bytes and returns how many there really were (fewer only at the end of the data). */
  skip(length: number): Promise<number>;
  close(): Promise<void>;
}

/**
 * Opens the same bytes again from the start. Readers take this instead of a source, so that detection, reading and a
 * later look at instance values each get a fresh cursor.
 */
export type OpenBytes = () => Promise<ByteSource>;

/**
 * Thrown by `read` and `skip` where the bytes themselves are at fault: compressed data that are damaged or end too
 * early, bytes behind compressed data that were complete (`trailing`), or more data than the limit allows. Who reads a
 * format turns it into its own refusal or finding.
 */
export class BytesError extends Error {
  readonly code: "damaged" | "truncated" | "trailing" | "too_large";

  constructor(code: BytesError["code"], message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "BytesError";
    this.code = code;
  }
}

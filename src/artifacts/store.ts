import type { Readable } from "node:stream";

/** Bytes that were taken in and lie in a local file, not yet kept. Exactly one of `keep` and `discard` must follow. */
export interface StagedArtifact {
  readonly sha256: string;
  readonly bytes: number;
  /** A local file until `keep` or `discard`. */
  readonly path: string;
  /** Makes the bytes durable under their hash; keeping the same bytes twice keeps them once. Returns the storage key. */
  keep(): Promise<string>;
  discard(): Promise<void>;
}

/** First and last byte, both included. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** Where uploaded and captured files are kept, by the SHA-256 of their bytes. */
export interface ArtifactStore {
  /**
   * Takes in a stream without ever holding it in memory, hashing on the way.
   * @throws ArtifactTooLargeError past `maxBytes`; StorageFullError when the disk is full; whatever the source throws.
   * Nothing is left behind then.
   */
  stage(source: AsyncIterable<Uint8Array>, maxBytes: number): Promise<StagedArtifact>;
  /** @throws ArtifactMissingError */
  read(key: string, range?: ByteRange): Promise<Readable>;
  /** A local file with these bytes, to be read only. @throws ArtifactMissingError */
  localPath(key: string): Promise<string>;
}

export class ArtifactTooLargeError extends Error {
  override readonly name = "ArtifactTooLargeError";
  readonly maxBytes: number;

  constructor(maxBytes: number) {
    super(`more than ${maxBytes} bytes`);
    this.maxBytes = maxBytes;
  }
}

export class StorageFullError extends Error {
  override readonly name = "StorageFullError";
}

export class ArtifactMissingError extends Error {
  override readonly name = "ArtifactMissingError";
}

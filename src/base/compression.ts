import { type ByteSource, BytesError, type OpenBytes } from "./bytes.ts";
import { ChunkSource } from "./chunk-source.ts";
import { gunzipChunks } from "./gzip.ts";
import { err, ok, type Result } from "./result.ts";
import { unzstdChunks } from "./zstd.ts";

/** A `.ncu-repz` in a `.gz` is two deep; what is nested deeper is not a report. */
const MAX_DEPTH = 2;
/**
 * Reports shrink to a tenth. Data that grow by more than this factor, once the result is large, are not reports but an
 * attempt to keep the host busy (gzip reaches 1,030 with zeros).
 */
const MAX_RATIO = 250;
const RATIO_FREE_BYTES = 64 * 1024 ** 2;

/** How the bytes were wrapped, from their first bytes: RFC 1952 section 2.3.1, RFC 8878 sections 3.1.1 and 3.1.2. */
export type CompressionKind = "none" | "gzip" | "zstd";

/** A reason not to unwrap at all. Damage inside the data shows later, as a BytesError of `read` or `skip`. */
export interface CompressionFailure {
  readonly code: BytesError["code"] | "too_deep";
  readonly message: string;
}

/**
 * Recognises gzip and zstd by their first bytes, also wrapped in each other, and gives what is inside. `compression` is
 * the outermost wrapping. What comes out is a stream: skipping decompresses and discards, `size` is null, memory stays
 * bounded whatever the data say about themselves. Plain data are handed on as they are, with their seeking.
 */
export async function openDecompressed(
  open: OpenBytes,
  limits: { readonly maxBytes: number },
): Promise<Result<{ readonly open: OpenBytes; readonly compression: CompressionKind }, CompressionFailure>> {
  let inner = open;
  let outermost: CompressionKind = "none";
  for (let depth = 0; depth <= MAX_DEPTH; depth += 1) {
    const kind = await kindOf(inner);
    if (!kind.ok) return kind;
    if (kind.value === "none") return ok({ open: inner, compression: outermost });
    if (depth === 0) outermost = kind.value;
    inner = decompressing(inner, kind.value, limits.maxBytes);
  }
  return err({ code: "too_deep", message: `compressed data inside compressed data, more than ${MAX_DEPTH} deep` });
}

async function kindOf(open: OpenBytes): Promise<Result<CompressionKind, CompressionFailure>> {
  const source = await open();
  try {
    const [a = 0, b = 0, c = 0, d = 0] = await source.read(4);
    if (a === 0x1f && b === 0x8b) return ok("gzip");
    const isZstd = a === 0x28 && b === 0xb5 && c === 0x2f && d === 0xfd;
    const isSkippableFrame = (a & 0xf0) === 0x50 && b === 0x2a && c === 0x4d && d === 0x18;
    return ok(isZstd || isSkippableFrame ? "zstd" : "none");
  } catch (error) {
    if (!(error instanceof BytesError)) throw error;
    return err({ code: error.code, message: error.message });
  } finally {
    await source.close();
  }
}

function decompressing(open: OpenBytes, kind: "gzip" | "zstd", maxBytes: number): OpenBytes {
  return async () => {
    const source = await open();
    const chunks = kind === "gzip" ? gunzipChunks(source, open) : unzstdChunks(source);
    return new ChunkSource(bounded(chunks, source, kind, maxBytes), () => source.close());
  };
}

/** Passes chunks on as long as their sum stays within the limits. */
async function* bounded(
  chunks: AsyncIterable<Uint8Array>,
  source: ByteSource,
  kind: string,
  maxBytes: number,
): AsyncGenerator<Uint8Array> {
  let total = 0;
  for await (const chunk of chunks) {
    total += chunk.length;
    if (total > maxBytes) {
      throw new BytesError("too_large", `more than ${maxBytes} bytes after decompression`);
    }
    if (total > RATIO_FREE_BYTES && total > source.position * MAX_RATIO) {
      throw new BytesError(
        "too_large",
        `${source.position} bytes of ${kind} data became ${total} bytes, more than ${MAX_RATIO} times as many`,
      );
    }
    yield chunk;
  }
}

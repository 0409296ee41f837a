import { BytesError } from "../base/bytes.ts";
import { err, type Result } from "../base/result.ts";
import type { ReadFailure } from "./report.ts";

/** What to do about compressed data that cannot be read, in the words of a kind of file. */
export interface CompressionHints {
  readonly tooLarge: string;
  readonly damaged: string;
}

/** The refusal of data that cannot be decompressed. */
export function compressionFailure(
  code: BytesError["code"] | "too_deep",
  message: string,
  hints: CompressionHints,
): ReadFailure {
  if (code === "too_large" || code === "too_deep") {
    return {
      code: "too_large",
      message: `the file cannot be decompressed within the limits: ${message}`,
      hint: hints.tooLarge,
      evidence: { limit: code },
    };
  }
  return {
    code: "malformed",
    message: `the file cannot be decompressed: ${message}`,
    hint: hints.damaged,
    evidence: { damage: code },
  };
}

/** Turns a BytesError of `read` into its refusal; other errors reject. */
export async function withoutBytesError<T>(
  hints: CompressionHints,
  read: () => Promise<Result<T, ReadFailure>>,
): Promise<Result<T, ReadFailure>> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof BytesError)) throw error;
    return err(compressionFailure(error.code, error.message, hints));
  }
}

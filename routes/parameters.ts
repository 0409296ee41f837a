import { z } from "zod";

/** U+0000 cannot be compared with text in Postgres. */
export const text = (max: number) =>
  z
    .string()
    .max(max)
    .refine((value) => !value.includes("\0"), "expected text without the character U+0000");

/** Ids are compared in lower case, as they are made (RFC 9562, section 4: output in lower case, input in either). */
export const idParams = z.object({ id: z.uuid().transform((id) => id.toLowerCase()) });

/** Seconds after which asking for a profile again makes sense: an analysis takes about that long. */
export const RETRY_AFTER_S = 1;

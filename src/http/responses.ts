import type { z } from "zod";
import { JSON_TYPE } from "./route-config.ts";

/** A `response` entry of a route: JSON of this shape. */
export const json = <T extends z.ZodType>(description: string, schema: T) => ({
  description,
  content: { [JSON_TYPE]: { schema } },
});

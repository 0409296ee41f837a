import type { Kysely } from "kysely";
import type { Tables } from "./tables.ts";

export type Engine = "sqlite" | "postgres";

/** One step of the schema. Steps are never changed once released, only added. */
export interface Migration {
  readonly name: string;
  up(db: Kysely<Tables>, engine: Engine): Promise<void>;
}

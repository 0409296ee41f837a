import type { ExpressionBuilder, Kysely, Selectable, Updateable } from "kysely";
import { FINAL_STATES, PROFILE_STATES, type ProfileState } from "../model/profile.ts";
import { insertProfileReports } from "./reports.ts";
import type { ProfilesTable, Tables } from "./tables.ts";

export type ProfileRow = Selectable<ProfilesTable>;

/** What may differ between two profiles in a list; null or absent: no condition. */
export interface ProfileFilter {
  readonly state?: ProfileState | undefined;
  readonly model_key?: string | undefined;
  readonly engine?: string | undefined;
  readonly target?: string | undefined;
  readonly session?: string | undefined;
}

/** Place in the list, newest first: items come after this one. */
export interface ProfilePosition {
  readonly created_at_ms: number;
  readonly id: string;
}

/** What changes in the life of a profile, beside its state and the number of its newest event. */
type Changing =
  | "progress"
  | "failure"
  | "attempt"
  | "started_at_ms"
  | "finished_at_ms"
  | "worker_id"
  | "capture_attempts"
  | "capture";

export type ProfileChanges = Updateable<Pick<ProfilesTable, Changing>>;

export type NewProfile = Omit<ProfileRow, "state" | "last_event" | "updated_at_ms" | Changing>;

export interface StateChange {
  readonly id: string;
  /** The change happens only from one of these; final states are never left. */
  readonly from: readonly ProfileState[];
  readonly to: ProfileState;
  /** Where given, the change happens only for the worker that began this attempt. */
  readonly attempt?: number;
  readonly now_ms: number;
  readonly columns?: ProfileChanges;
  /** What the event tells beside the state. */
  readonly data?: Readonly<Record<string, unknown>>;
}

/** Adds a profile in state `queued` with its first event and outbox row. Call it inside a transaction. */
export async function insertProfile(
  db: Kysely<Tables>,
  profile: NewProfile,
  reportIds: readonly string[],
): Promise<ProfileRow> {
  const row: ProfileRow = {
    ...profile,
    state: "queued",
    last_event: 1,
    attempt: 0,
    progress: null,
    failure: null,
    updated_at_ms: profile.created_at_ms,
    started_at_ms: null,
    finished_at_ms: null,
    worker_id: null,
    capture_attempts: 0,
    capture: null,
  };
  await db.insertInto("profiles").values(row).execute();
  await insertEvent(db, row, {});
  await insertProfileReports(db, row.id, reportIds);
  return row;
}

/**
 * Changes the state of a profile and writes the event and its outbox row. Call it inside a transaction: the number of
 * the event is taken by the update of the row, which both databases let only one transaction at a time do, so numbers
 * have neither gaps nor doubles.
 * @returns the row after the change, or null where the profile is unknown, in none of the `from` states, or in the
 * hands of another attempt.
 */
export async function changeState(db: Kysely<Tables>, change: StateChange): Promise<ProfileRow | null> {
  const from = change.from.filter((state) => !FINAL_STATES.has(state));
  const { attempt } = change;
  const row = await db
    .updateTable("profiles")
    .set((builder) => ({
      ...change.columns,
      state: change.to,
      last_event: builder("last_event", "+", 1),
      updated_at_ms: change.now_ms,
    }))
    .where("id", "=", change.id)
    .where("state", "in", from)
    .$if(attempt !== undefined, (query) => query.where("attempt", "=", attempt ?? 0))
    .returningAll()
    .executeTakeFirst();
  if (!row) return null;
  await insertEvent(db, row, change.data ?? {});
  return row;
}

async function insertEvent(
  db: Kysely<Tables>,
  row: ProfileRow,
  data: Readonly<Record<string, unknown>>,
): Promise<void> {
  const event = { profile_id: row.id, seq: row.last_event, created_at_ms: row.updated_at_ms };
  await db
    .insertInto("events")
    .values({ ...event, type: `profile.${row.state}`, data: JSON.stringify(data) })
    .execute();
  await db
    .insertInto("outbox")
    .values({ ...event, delivered_at_ms: null })
    .execute();
}

/**
 * Changes a profile that stays in its state: no event.
 * @returns the row after the change, or null where it is unknown, in another state or in the hands of another attempt.
 */
export async function changeColumns(
  db: Kysely<Tables>,
  change: {
    readonly id: string;
    readonly state: ProfileState;
    readonly attempt: number;
    readonly now_ms: number;
    readonly columns: ProfileChanges;
  },
): Promise<ProfileRow | null> {
  const row = await db
    .updateTable("profiles")
    .set({ ...change.columns, updated_at_ms: change.now_ms })
    .where("id", "=", change.id)
    .where("state", "=", change.state)
    .where("attempt", "=", change.attempt)
    .returningAll()
    .executeTakeFirst();
  return row ?? null;
}

export async function profileById(db: Kysely<Tables>, id: string): Promise<ProfileRow | null> {
  return (await db.selectFrom("profiles").selectAll().where("id", "=", id).executeTakeFirst()) ?? null;
}

/** Profiles newest first, after a place in that order. */
export async function listProfiles(
  db: Kysely<Tables>,
  filter: ProfileFilter,
  after: ProfilePosition | null,
  limit: number,
): Promise<ProfileRow[]> {
  let query = db.selectFrom("profiles").selectAll();
  for (const column of ["state", "model_key", "engine", "target", "session"] as const) {
    const value = filter[column];
    if (value !== undefined) query = query.where(column, "=", value);
  }
  if (after) query = query.where((builder) => isAfter(builder, after));
  return query.orderBy("created_at_ms", "desc").orderBy("id", "desc").limit(limit).execute();
}

const isAfter = (builder: ExpressionBuilder<Tables, "profiles">, { created_at_ms, id }: ProfilePosition) =>
  builder(builder.refTuple("created_at_ms", "id"), "<", builder.tuple(created_at_ms, id));

const UNFINISHED = PROFILE_STATES.filter((state) => !FINAL_STATES.has(state));

export type UnfinishedProfile = Pick<ProfileRow, "id" | "state" | "pool" | "worker_id" | "created_at_ms">;

/** Unfinished profiles in id order: what the reconciler walks through. */
export async function unfinishedProfiles(
  db: Kysely<Tables>,
  afterId: string | null,
  limit: number,
): Promise<UnfinishedProfile[]> {
  return db
    .selectFrom("profiles")
    .select(["id", "state", "pool", "worker_id", "created_at_ms"])
    .where("state", "in", UNFINISHED)
    .$if(afterId !== null, (query) => query.where("id", ">", afterId ?? ""))
    .orderBy("id")
    .limit(limit)
    .execute();
}

export async function countByState(db: Kysely<Tables>): Promise<{ state: ProfileState; count: number }[]> {
  const rows = await db
    .selectFrom("profiles")
    .select((builder) => ["state", builder.fn.countAll<string | number>().as("count")])
    .groupBy("state")
    .execute();
  return rows.map(({ state, count }) => ({ state, count: Number(count) }));
}

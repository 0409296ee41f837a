import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { Queue } from "bullmq";
import { expect } from "vitest";
import type { Database } from "../../src/db/database.ts";
import { captureQueueName } from "../../src/model/capture.ts";
import { ANALYSIS_QUEUE } from "../../src/model/jobs.ts";
import { FINAL_STATES, type ProfileState } from "../../src/model/profile.ts";
import { connectRedis } from "../../src/queue/connections.ts";
import { QUEUE_PREFIX } from "../../src/queue/settings.ts";

type State = ProfileState;
const IN_CAPTURE: readonly State[] = ["waiting_for_gpu", "warming_up", "capturing"];
/** `waiting_for_gpu` again: it was taken up by another worker. */
const NEXT: Readonly<Partial<Record<State, readonly State[]>>> = {
  queued: ["waiting_for_gpu", "failed", "canceled"],
  waiting_for_gpu: ["warming_up", "capturing", "analyzing", "failed", "canceled"],
  warming_up: ["waiting_for_gpu", "capturing", "analyzing", "failed", "canceled"],
  capturing: ["waiting_for_gpu", "warming_up", "analyzing", "failed", "canceled"],
  analyzing: ["succeeded", "failed", "canceled"],
};

/** Jobs that wait or are held. */
export async function jobsLeft(url: string): Promise<string[]> {
  const redis = await connectRedis({ url }, () => {});
  try {
    const left: string[] = [];
    for (const name of [captureQueueName("default"), ANALYSIS_QUEUE]) {
      const queue = new Queue(name, { connection: redis.producer, prefix: QUEUE_PREFIX });
      for (const job of await queue.getJobs(["waiting", "active", "delayed", "prioritized"]))
        left.push(`${name}: ${job.id} ${await job.getState()}`);
      await queue.close();
    }
    return left;
  } finally {
    redis.close();
  }
}

/** One final state, one final event, as its last; steps that may follow each other; a result where it succeeded. */
export async function checkRows(
  { kysely }: Database,
  acknowledged: readonly string[],
): Promise<Record<string, number>> {
  const rows = await kysely.selectFrom("profiles").selectAll().execute();
  const known = new Set(rows.map(({ id }) => id));
  expect(acknowledged.filter((id) => !known.has(id))).toEqual([]);
  const ends: Record<string, number> = {};
  for (const row of rows) {
    expect(FINAL_STATES.has(row.state), `${row.id} is ${row.state}`).toBe(true);
    const events = await kysely
      .selectFrom("events")
      .select(["seq", "type"])
      .where("profile_id", "=", row.id)
      .orderBy("seq")
      .execute();
    expect(events.map(({ seq }) => seq)).toEqual(Array.from({ length: row.last_event }, (_, index) => index + 1));
    const steps = events.map(({ type }) => type.replace("profile.", "") as State);
    expect(steps[0]).toBe("queued");
    for (const [index, step] of steps.slice(1).entries()) {
      const before = steps[index];
      expect(before && NEXT[before], `${row.id}: ${steps.join(" ")}`).toContain(step);
    }
    expect(steps.filter((step) => FINAL_STATES.has(step))).toEqual([row.state]);
    const results = await kysely.selectFrom("results").select("sha256").where("profile_id", "=", row.id).execute();
    expect(results, `results of ${row.id}, ${row.state}`).toHaveLength(row.state === "succeeded" ? 1 : 0);
    const reports = await kysely.selectFrom("profile_reports").selectAll().where("profile_id", "=", row.id).execute();
    const analyzed = steps.includes("analyzing");
    expect(reports.length, `reports of ${row.id}, ${steps.join(" ")}`).toBe(analyzed ? 1 : 0);
    expect(steps.some((step) => IN_CAPTURE.includes(step))).toBe(row.attempt > 0);
    const code = row.failure === null ? "" : ` ${JSON.parse(row.failure).code}`;
    ends[row.state + code] = (ends[row.state + code] ?? 0) + 1;
  }
  return ends;
}

/** The file of every row is there, and what is counted is what lies there. */
export async function checkStorage({ kysely }: Database, dataDir: string, apiKilled: boolean): Promise<void> {
  const root = join(dataDir, "artifacts");
  const sizes = readdirSync(join(root, "sha256"), { recursive: true, encoding: "utf8" })
    .map((name) => statSync(join(root, "sha256", name)))
    .filter((entry) => entry.isFile())
    .map(({ size }) => size);
  const onDisk = sizes.reduce((sum, size) => sum + size, 0);
  const rows = [
    ...(await kysely.selectFrom("reports").select(["sha256", "bytes", "storage_key"]).execute()),
    ...(await kysely.selectFrom("profile_artifacts").select(["sha256", "bytes", "storage_key"]).execute()),
  ];
  expect(rows.filter(({ storage_key }) => !existsSync(join(root, storage_key)))).toEqual([]);
  const distinct = new Map(rows.map(({ sha256, bytes }) => [sha256, Number(bytes)]));
  const { bytes } = await kysely
    .selectFrom("storage_usage")
    .select("bytes")
    .where("kind", "=", "reports")
    .executeTakeFirstOrThrow();
  // What another attempt handed in under the same name before stays counted, as it stays on the disk.
  expect(Number(bytes)).toBeGreaterThanOrEqual([...distinct.values()].reduce((sum, size) => sum + size, 0));
  // A service that is killed between the file and its row leaves the file.
  if (apiKilled) expect(onDisk).toBeGreaterThanOrEqual(Number(bytes));
  else expect(onDisk).toBe(Number(bytes));
}

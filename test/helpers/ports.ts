import { join } from "node:path";
import { v7 as uuidv7 } from "uuid";
import { isFullPipeline } from "../../src/analysis/index.ts";
import { targetMatcher } from "../../src/analysis/target.ts";
import { openFileStore } from "../../src/artifacts/file-store.ts";
import type { Database } from "../../src/db/database.ts";
import { insertReport } from "../../src/db/reports.ts";
import type { Profile } from "../../src/model/profile.ts";
import type { ProfilePorts } from "../../src/profiles/ports.ts";
import { submitProfile } from "../../src/profiles/submit.ts";
import { connectRedis, type RedisConnections } from "../../src/queue/connections.ts";
import { type EmbeddedRedis, startEmbeddedRedis } from "../../src/queue/embedded-redis.ts";
import { openQueues, type Queues } from "../../src/queue/queues.ts";
import { openWakeUps } from "../../src/queue/wake-ups.ts";
import type { TestDatabase } from "./databases.ts";

/** The use cases' ports on a real database and a real Redis, and nobody who works on the queue. */
export interface TestPorts {
  readonly ports: ProfilePorts;
  readonly database: Database;
  readonly queues: Queues;
  readonly redis: RedisConnections;
  readonly server: EmbeddedRedis;
  /** Id of a report that exists as a row, for profiles that are never analysed. */
  readonly reportId: string;
  submit(more?: object): Promise<Profile>;
  close(): Promise<void>;
}

export const OPERATOR = { keyId: null, isAdmin: true };

export async function openTestPorts(testDatabase: TestDatabase): Promise<TestPorts> {
  const settings = await testDatabase.settings();
  const database = await testDatabase.open(settings);
  const server = await startEmbeddedRedis({ dataDir: settings.DATA_DIR, onRestart: () => {} });
  const redis = await connectRedis({ socketPath: server.socketPath }, () => {});
  const queues = await openQueues(redis, () => {});
  const ports: ProfilePorts = {
    database,
    queues,
    wakeUps: await openWakeUps(redis),
    artifacts: await openFileStore(join(settings.DATA_DIR, "artifacts"), true),
    targets: {
      isFullPipeline,
      problem: (target) => {
        const matcher = targetMatcher(target);
        return matcher.ok ? null : matcher.error;
      },
    },
    limits: { maxReportBytes: 1e9, reportQuotaBytes: 1e9, noWorkerTimeoutMs: 600_000 },
    incoming: { bytes: 0 },
    makeTrace: async () => ({ kind: "busy" }),
    now: Date.now,
    warn: () => {},
  };
  const sha256 = "0".repeat(64);
  const report = {
    id: uuidv7(),
    sha256,
    bytes: 1,
    format: "ncu-rep",
    compression: "none",
    storage_key: `sha256/00/${sha256}`,
  };
  await insertReport(database.kysely, { ...report, owner_key_id: null, created_at_ms: Date.now() });
  return {
    ports,
    database,
    queues,
    redis,
    server,
    reportId: report.id,
    submit: (more = {}) =>
      submitProfile(ports, OPERATOR, { target: "k", source: { kind: "report", report_ids: [report.id] }, ...more }),
    async close() {
      ports.wakeUps.close();
      await queues.close();
      redis.close();
      await server.close();
      await database.close();
    },
  };
}

/** Types of the events of a profile in order, after a check that their numbers have no gap and the outbox names each. */
export async function eventsOf({ database: { kysely } }: TestPorts, profileId: string): Promise<string[]> {
  const events = await kysely
    .selectFrom("events")
    .select(["seq", "type"])
    .where("profile_id", "=", profileId)
    .orderBy("seq")
    .execute();
  const outbox = await kysely
    .selectFrom("outbox")
    .select("seq")
    .where("profile_id", "=", profileId)
    .orderBy("seq")
    .execute();
  const numbers = events.map((_, index) => index + 1);
  for (const rows of [events, outbox]) {
    if (JSON.stringify(rows.map(({ seq }) => seq)) !== JSON.stringify(numbers))
      throw new Error(`numbers of events have gaps: ${JSON.stringify(rows)}`);
  }
  return events.map(({ type }) => type);
}

// One of the two servers of bench/post-profiles.ts, as a process of its own: tells its parent where it listens, ends
// when the parent disconnects.
import Fastify from "fastify";
import { validatorCompiler, type ZodTypeProvider } from "fastify-type-provider-zod";
import { v7 as uuidv7 } from "uuid";
import { readConfig } from "../src/config.ts";
import { openPostgres, openSqlite } from "../src/db/database.ts";
import { insertProfile } from "../src/db/profiles.ts";
import { insertReport, reportsByIds } from "../src/db/reports.ts";
import { startService } from "../src/main.ts";
import { profileRequestSchema } from "../src/model/profile.ts";
import { connectRedis } from "../src/queue/connections.ts";
import { startEmbeddedRedis } from "../src/queue/embedded-redis.ts";
import { openQueues } from "../src/queue/queues.ts";

export interface ServerSettings {
  readonly kind: "service" | "bare";
  readonly dataDir: string;
  readonly databaseUrl: string | null;
}

export interface Serving {
  readonly url: string;
  readonly reportId: string;
}

const { kind, dataDir, databaseUrl } = JSON.parse(process.argv[2] ?? "{}") as ServerSettings;
const reportId = uuidv7();

const openDatabase = () => (databaseUrl === null ? openSqlite(dataDir) : openPostgres(databaseUrl, () => {}));

/** A row is enough: nothing reads the report. */
async function addReport(): Promise<void> {
  const database = await openDatabase();
  const report = {
    id: reportId,
    sha256: "0".repeat(64),
    bytes: 1,
    format: "ncu-rep",
    compression: "none",
    storage_key: "none",
    owner_key_id: null,
  };
  await insertReport(database.kysely, { ...report, created_at_ms: Date.now() });
  await database.close();
}

async function startBare(): Promise<string> {
  const server = await startEmbeddedRedis({ dataDir, onRestart: () => {} });
  const queues = await openQueues(await connectRedis({ socketPath: server.socketPath }, () => {}), () => {});
  const { kysely } = await openDatabase();
  const app = Fastify().withTypeProvider<ZodTypeProvider>();
  app.setValidatorCompiler(validatorCompiler);
  app.post("/profiles", { schema: { body: profileRequestSchema } }, async ({ body }, reply) => {
    const ids = body.source?.kind === "report" ? (body.source.report_ids ?? []) : [];
    const reports = await reportsByIds(kysely, ids);
    if (ids.some((id) => !reports.has(id))) return reply.code(422).send({ error: "no such report" });
    const now = Date.now();
    const row = await kysely.transaction().execute((transaction) =>
      insertProfile(
        transaction,
        {
          id: uuidv7(),
          schema_version: 1,
          source_kind: "report",
          pool: null,
          workload: null,
          target: body.target,
          model: body.model ?? null,
          model_key: body.model ?? null,
          engine: body.engine ?? null,
          session: body.session ?? null,
          revision: body.revision ?? null,
          fingerprint: "0".repeat(64),
          request: JSON.stringify(body),
          labels: JSON.stringify(body.labels ?? {}),
          owner_key_id: null,
          created_at_ms: now,
        },
        ids,
      ),
    );
    await queues.analysis.add(row.id);
    return reply
      .code(202)
      .header("location", `/profiles/${row.id}`)
      .send({ id: row.id, state: row.state, request: body, created_at: now });
  });
  const url = await app.listen({ host: "127.0.0.1", port: 0 });
  process.once("disconnect", async () => {
    await app.close();
    await server.close();
    process.exit();
  });
  return url;
}

async function startWhole(): Promise<string> {
  const config = readConfig({
    DATA_DIR: dataDir,
    PORT: "0",
    LOG_LEVEL: "warn",
    ...(databaseUrl === null ? {} : { DATABASE_URL: databaseUrl }),
  });
  // The role without workers, which the settings allow only with a Redis of one's own.
  const service = await startService({ ...config, ROLE: "api", RECONCILE_INTERVAL_S: 3600 });
  process.once("disconnect", async () => {
    await service.close();
    process.exit();
  });
  return service.url;
}

// The parent asks how much processor time this process has used so far: microseconds.
process.on("message", (message) => {
  if (message !== "cpu") return;
  const { user, system } = process.cpuUsage();
  process.send?.({ cpuUs: user + system });
});

await addReport();
const url = kind === "service" ? await startWhole() : await startBare();
process.send?.({ url, reportId } satisfies Serving);

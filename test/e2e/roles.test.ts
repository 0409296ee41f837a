import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, expect, it } from "vitest";
import { temporaryFolder } from "../helpers/databases.ts";
import { fixture, H200 } from "../helpers/fixtures.ts";
import { startPostgres } from "../helpers/postgres.ts";
import { testRedis } from "../helpers/redis.ts";
import { clientOf, startTestService, submit, untilFinal, upload } from "../helpers/service.ts";

const SMALL = fixture(`${H200}h200-graph-nodes.ncu-rep.gz`);
const postgres = await startPostgres();
const redis = testRedis(temporaryFolder());
afterAll(async () => {
  await redis.kill();
  await postgres?.stop();
});

it.runIf(postgres)("runs as two API processes and a worker over one Redis, Postgres and folder", async () => {
  await redis.start();
  const shared = {
    REDIS_URL: redis.url,
    DATABASE_URL: (await postgres?.createDatabase()) ?? "",
    ARTIFACTS_URL: pathToFileURL(join(temporaryFolder(), "artifacts")).href,
  };
  const services = await Promise.all(
    (["api", "api", "analysis"] as const).map((ROLE) =>
      startTestService({ ...shared, ROLE, DATA_DIR: temporaryFolder() }),
    ),
  );
  const [first, second, worker] = services;
  if (!first || !second || !worker) throw new Error("not all were started");
  const { id: reportId } = await upload(first.call, SMALL);
  const profiles = await Promise.all([first, second, first, second].map(({ call }) => submit(call, reportId)));
  // Each waits at the process that did not take it in.
  const ended = await Promise.all(
    profiles.map(({ id }, index) => untilFinal((index % 2 === 0 ? second : first).call, id)),
  );
  for (const profile of ended) expect(profile).toMatchObject({ state: "succeeded", last_event: 3 });
  const { body } = await second.call("GET", `/profiles/${profiles[0]?.id}/result`);
  expect(body).toMatchObject({ kind: "pipeline" });

  // A worker tells how it is and serves nothing else.
  const ofWorker = clientOf(worker.url);
  expect((await ofWorker("GET", "/readyz")).status).toBe(200);
  expect((await ofWorker("GET", "/metrics")).body).toMatch(
    /^profile_kernel_profiles_ended_total\{state="succeeded",code=""\} 4$/m,
  );
  expect((await ofWorker("GET", "/profiles")).status).toBe(404);
  await Promise.all(services.map((service) => service.close()));
});

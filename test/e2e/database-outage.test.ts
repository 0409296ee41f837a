import { afterAll, expect, it } from "vitest";
import { temporaryFolder } from "../helpers/databases.ts";
import { fixture, H200 } from "../helpers/fixtures.ts";
import { startPostgres } from "../helpers/postgres.ts";
import { startTestService, submit, untilFinal, upload } from "../helpers/service.ts";
import { until } from "../helpers/until.ts";

const SMALL = fixture(`${H200}h200-graph-nodes.ncu-rep.gz`);
const postgres = await startPostgres();
afterAll(() => postgres?.stop());

it.runIf(postgres)("says 503 while Postgres is away, and finishes what was taken in before", async () => {
  const service = await startTestService({
    DATA_DIR: temporaryFolder(),
    DATABASE_URL: (await postgres?.createDatabase()) ?? "",
  });
  const { call } = service;
  const { id: reportId } = await upload(call, SMALL);
  const profiles = await Promise.all(Array.from({ length: 5 }, () => submit(call, reportId)));
  await postgres?.down();

  const refused = await call("POST", "/profiles", {
    json: { target: "x", source: { kind: "report", report_ids: [reportId] } },
  });
  expect(refused).toMatchObject({ status: 503, body: { code: "unavailable" } });
  expect(refused.headers.get("retry-after")).toBe("5");
  expect((await call("GET", "/livez")).status).toBe(200);
  expect(await call("GET", "/readyz")).toMatchObject({
    status: 503,
    body: { checks: { database: false, queue: true } },
  });

  await postgres?.up();
  await until(async () => (await call("GET", "/readyz")).status === 200);
  for (const { id } of profiles)
    expect(await untilFinal(call, id)).toMatchObject({ state: "succeeded", last_event: 3 });
  await service.close();
});

it("names a Postgres that cannot be reached", async () => {
  const DATABASE_URL = `postgres://user:hunter2@localhost/none?host=${encodeURIComponent(temporaryFolder())}`;
  await expect(startTestService({ DATA_DIR: temporaryFolder(), DATABASE_URL })).rejects.toThrow(
    /^Postgres at localhost cannot be used: connect ENOENT .* Check DATABASE_URL\.$/,
  );
});

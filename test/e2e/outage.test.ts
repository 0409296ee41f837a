import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { onBothDatabases, temporaryFolder } from "../helpers/databases.ts";
import { fixture, H200 } from "../helpers/fixtures.ts";
import { testRedis } from "../helpers/redis.ts";
import { startTestService, submit, untilFinal, upload } from "../helpers/service.ts";
import { until } from "../helpers/until.ts";

const SMALL = fixture(`${H200}h200-graph-nodes.ncu-rep.gz`);

await onBothDatabases((database) => {
  it("takes profiles in while Redis is away, and works on them when it is back", async () => {
    const redis = testRedis(temporaryFolder());
    await redis.start();
    const service = await startTestService({ ...(await database.settings()), REDIS_URL: redis.url });
    const { call } = service;
    const { id: reportId } = await upload(call, SMALL);

    await redis.kill();
    await until(async () => (await call("GET", "/readyz")).status === 503);
    expect((await call("GET", "/livez")).status).toBe(200);
    expect((await call("GET", "/readyz")).body).toMatchObject({
      status: "unavailable",
      checks: { database: true, queue: false },
    });
    // The row is the truth: 202 as ever.
    const profiles = [await submit(call, reportId), await submit(call, reportId)];
    const canceled = await call("POST", `/profiles/${profiles[1]!.id}/cancel`);
    expect(canceled).toMatchObject({ status: 202, body: { state: "canceled" } });
    expect((await call("GET", "/metrics")).body).toMatch(/^profile_kernel_profiles\{state="queued"\} 1$/m);

    await redis.start();
    expect(await untilFinal(call, profiles[0]!.id)).toMatchObject({ state: "succeeded" });
    expect(await untilFinal(call, profiles[1]!.id)).toMatchObject({ state: "canceled", last_event: 2 });
    await until(async () => (await call("GET", "/readyz")).status === 200);
    await service.close();
    await redis.kill();
  });

  it("starts its own Redis again when that dies, and loses no profile", async () => {
    const settings = await database.settings();
    const service = await startTestService(settings);
    const { call } = service;
    const { id: reportId } = await upload(call, SMALL);
    const before = await Promise.all(Array.from({ length: 6 }, () => submit(call, reportId)));
    const { pid } = JSON.parse(readFileSync(join(settings.DATA_DIR, "redis", "process.json"), "utf8"));
    process.kill(pid, "SIGKILL");
    const after = await Promise.all(Array.from({ length: 6 }, () => submit(call, reportId)));
    for (const { id } of [...before, ...after])
      expect(await untilFinal(call, id)).toMatchObject({ state: "succeeded", last_event: 3 });
    await service.close();
  });
});

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { processStartTime } from "../../src/base/process-identity.ts";
import { temporaryFolder } from "../helpers/databases.ts";
import { fixture, H200 } from "../helpers/fixtures.ts";
import { startServiceProcess } from "../helpers/process.ts";
import { testRedis } from "../helpers/redis.ts";
import { clientOf, submit, untilFinal, upload } from "../helpers/service.ts";
import { until } from "../helpers/until.ts";

const SMALL = fixture(`${H200}h200-graph-nodes.ncu-rep.gz`);
const LARGE = fixture(`${H200}h200-full.ncu-rep.gz`);

const redisOf = (dataDir: string): { pid: number; start_time: string } =>
  JSON.parse(readFileSync(join(dataDir, "redis", "process.json"), "utf8"));
const isGone = async ({ pid, start_time }: { pid: number; start_time: string }): Promise<boolean> =>
  (await processStartTime(pid)) !== start_time;

it("on SIGTERM answers who waits, ends with 0, leaves no process, and goes on after the next start", async () => {
  const DATA_DIR = temporaryFolder();
  const first = await startServiceProcess({ DATA_DIR, ANALYSIS_CONCURRENCY: "1" });
  const call = clientOf(first.url);
  const redis = redisOf(DATA_DIR);
  const { id: reportId } = await upload(call, LARGE);
  const profiles = await Promise.all(Array.from({ length: 8 }, () => submit(call, reportId)));
  // The last one stays queued for a while.
  const waiting = call("GET", `/profiles/${profiles[7]!.id}?wait=60`);
  await until(async () => (await call("GET", `/profiles/${profiles[0]!.id}`)).body.state !== "queued");
  const [answer, code] = await Promise.all([waiting, first.end("SIGTERM")]);
  expect(answer.status).toBe(200);
  expect(code).toBe(0);
  expect(await isGone(redis)).toBe(true);

  const second = await startServiceProcess({ DATA_DIR });
  const again = clientOf(second.url);
  for (const { id } of profiles)
    expect(await untilFinal(again, id)).toMatchObject({ state: "succeeded", last_event: 3 });
  expect(await second.end("SIGINT")).toBe(0);
});

it("gives running analyses back when the time for them is over", async () => {
  const DATA_DIR = temporaryFolder();
  const first = await startServiceProcess({ DATA_DIR, SHUTDOWN_TIMEOUT_S: "0", ANALYSIS_CONCURRENCY: "1" });
  const call = clientOf(first.url);
  const { id: reportId } = await upload(call, LARGE);
  const { id } = await submit(call, reportId);
  await until(async () => (await call("GET", `/profiles/${id}?wait=5`)).body.state !== "queued");
  expect(await first.end("SIGTERM")).toBe(0);
  const second = await startServiceProcess({ DATA_DIR });
  expect(await untilFinal(clientOf(second.url), id)).toMatchObject({ state: "succeeded", last_event: 3 });
  await second.end("SIGTERM");
});

it("ends in order while Redis is away", async () => {
  const redis = testRedis(temporaryFolder());
  await redis.start();
  const service = await startServiceProcess({ DATA_DIR: temporaryFolder(), REDIS_URL: redis.url });
  const call = clientOf(service.url);
  const { id: reportId } = await upload(call, SMALL);
  await redis.kill();
  await until(async () => (await call("GET", "/readyz")).status === 503);
  await submit(call, reportId);
  expect(await service.end("SIGTERM")).toBe(0);
});

it("ends at once on a second signal, and its Redis with it", async () => {
  const DATA_DIR = temporaryFolder();
  const service = await startServiceProcess({ DATA_DIR, SHUTDOWN_DELAY_S: "600" });
  const call = clientOf(service.url);
  await upload(call, SMALL);
  const redis = redisOf(DATA_DIR);
  service.child.kill("SIGTERM");
  // Still answering while load balancers are to notice, and saying that it is going.
  await until(async () => (await call("GET", "/readyz")).status === 503);
  expect((await call("GET", "/readyz")).body.checks).toMatchObject({ running: false, database: true });
  const alive = await call("GET", "/livez");
  expect(alive.status).toBe(200);
  expect(alive.headers.get("connection")).toBe("close");
  expect(await service.end("SIGTERM")).not.toBe(0);
  await until(() => isGone(redis));
});

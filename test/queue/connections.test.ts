import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openAnalysisQueue } from "../../src/queue/analysis-queue.ts";
import { connectRedis } from "../../src/queue/connections.ts";
import { openWakeUps } from "../../src/queue/wake-ups.ts";
import { temporaryFolder } from "../helpers/databases.ts";
import { type TestRedis, testRedis } from "../helpers/redis.ts";
import { until } from "../helpers/until.ts";

const ID = "01a23007-a5e8-7481-a240-6068bf8be8a2";
let server: TestRedis;
beforeAll(async () => {
  server = testRedis(temporaryFolder());
  await server.start();
});
afterAll(() => server.kill());

it("says where it looked when Redis does not answer", async () => {
  const socket = join(temporaryFolder(), "none.sock");
  await expect(connectRedis({ url: `unix:${socket}` }, () => {})).rejects.toThrow(`Redis at ${socket} does not answer`);
});

it("adds a profile once, however often", async () => {
  const redis = await connectRedis({ url: server.url }, () => {});
  const queue = await openAnalysisQueue(redis, () => {});
  await Promise.all([queue.add(ID), queue.add(ID), queue.add(ID)]);
  expect(await queue.counts()).toMatchObject({ waiting: 1 });
  expect(await queue.presence(ID)).toBe("waiting");
  expect(await queue.presence("01a23007-a5e8-7481-a240-6068bf8be8a3")).toBe("missing");
  await queue.close();
  redis.close();
});

it("fails at once while Redis is away, and works again by itself", async () => {
  const errors: Error[] = [];
  const redis = await connectRedis({ url: server.url }, (error) => errors.push(error));
  const queue = await openAnalysisQueue(redis, (error) => errors.push(error));
  const wakeUps = await openWakeUps(redis);
  await server.kill();
  await until(() => redis.producer.status !== "ready");
  await expect(queue.add(ID)).rejects.toThrow();
  // A wake-up that cannot be sent is heard in this process all the same, and is no error.
  let heard = 0;
  const stop = wakeUps.listen(ID, () => {
    heard += 1;
  });
  wakeUps.publish(ID);
  expect(heard).toBe(1);
  // Attempts to connect again fail, and that is told.
  await until(() => errors.length > 0);

  await server.start();
  await until(async () =>
    queue.add(ID).then(
      () => true,
      () => false,
    ),
  );
  const told = new Promise<void>((resolve) => wakeUps.listen(ID, resolve));
  // The subscription is made again as well: publish from outside until it is.
  await until(async () => (await redis.producer.publish("profile-kernel:profile-changed", ID)) > 0);
  await told;
  stop();
  wakeUps.close();
  await queue.close();
  redis.close();
});

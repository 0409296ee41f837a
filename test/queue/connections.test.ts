import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { connectRedis } from "../../src/queue/connections.ts";
import { openQueues } from "../../src/queue/queues.ts";
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
  const queues = await openQueues(redis, () => {});
  await Promise.all([queues.analysis.add(ID), queues.analysis.add(ID), queues.analysis.add(ID)]);
  expect(await queues.analysis.counts()).toMatchObject({ waiting: 1 });
  expect(await queues.analysis.presence(ID)).toBe("waiting");
  expect(await queues.analysis.presence("01a23007-a5e8-7481-a240-6068bf8be8a3")).toBe("missing");
  await queues.close();
  redis.close();
});

it("fails at once while Redis is away, and works again by itself", async () => {
  const errors: Error[] = [];
  const redis = await connectRedis({ url: server.url }, (error) => errors.push(error));
  const queues = await openQueues(redis, (error) => errors.push(error));
  const wakeUps = await openWakeUps(redis);
  await server.kill();
  await until(() => redis.producer.status !== "ready");
  await expect(queues.analysis.add(ID)).rejects.toThrow();
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
    queues.analysis.add(ID).then(
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
  await queues.close();
  redis.close();
});

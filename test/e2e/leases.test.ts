import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { openKeys } from "../../src/access/keys.ts";
import type { Role } from "../../src/access/roles.ts";
import { openSqlite } from "../../src/db/database.ts";
import { keepLease } from "../../src/leases/keep.ts";
import { type Leases, openLeases } from "../../src/leases/leases.ts";
import { connectRedis, type RedisConnections } from "../../src/queue/connections.ts";
import { temporaryFolder } from "../helpers/databases.ts";
import { registration } from "../helpers/fake-worker.ts";
import { testRedis } from "../helpers/redis.ts";
import { type Answer, type Client, clientOf, startTestService, type TestService } from "../helpers/service.ts";
import { until } from "../helpers/until.ts";

const [G0, G1, G2] = ["GPU-00000000", "GPU-00000001", "GPU-00000002"] as const;
const KEY = `pk_deployment_${"a".repeat(43)}`;
const UNKNOWN = "01a23007-a5e8-7481-a240-6068bf8be8a2";

const server = testRedis(temporaryFolder());
const DATA_DIR = temporaryFolder();
let service: TestService;
let admin: Client;
let runner: Client;
let other: Client;
let reader: Client;
/** As a worker on a GPU host has them. */
let ofWorker: Leases;
let redis: RedisConnections;

beforeAll(async () => {
  await server.start();
  const database = await openSqlite(DATA_DIR);
  const keys = openKeys(database);
  const key = (roles: Role[]): Promise<string> =>
    keys.create({ name: roles.join(), roles, raw_artifacts: false, expires_at_ms: null });
  const [one, two, three] = [await key(["submitter"]), await key(["submitter"]), await key(["reader"])];
  await database.close();
  service = await startTestService({ DATA_DIR, REDIS_URL: server.url, API_KEY: KEY });
  const as = (token: string): Client => clientOf(service.url, { authorization: `Bearer ${token}` });
  [admin, runner, other, reader] = [as(KEY), as(one), as(two), as(three)];

  redis = await connectRedis({ url: server.url }, () => {});
  ofWorker = await openLeases(redis, () => {});
  const [gpu] = registration().gpus;
  if (!gpu) throw new Error("a worker has GPUs");
  const registered = await admin("PUT", "/workers/host-a", {
    json: registration({
      gpus: [
        { ...gpu, index: 1, uuid: G1 },
        { ...gpu, index: 0, uuid: G0 },
      ],
    }),
  });
  expect(registered.status).toBe(200);
  const second = registration({ gpus: [{ ...gpu, uuid: G2 }] });
  expect((await admin("PUT", "/workers/host-b", { json: second })).status).toBe(200);
});
afterAll(async () => {
  await service.close();
  ofWorker.close();
  redis.close();
  await server.kill();
});
beforeEach(async () => {
  for (const { id } of await ofWorker.list()) await ofWorker.release(id);
});

const take = (as: Client, gpus: readonly string[], query = ""): Promise<Answer> =>
  as("POST", `/leases${query}`, { json: { gpus, holder: "bench run 7" } });

it("is taken, renewed, shown and released", async () => {
  const taken = await runner("POST", "/leases", { json: { worker: "host-a", holder: "bench run 7", ttl_s: 30 } });
  expect(taken.status).toBe(201);
  expect(taken.headers.get("location")).toBe(`/leases/${taken.body.id}`);
  expect(taken.body).toMatchObject({ state: "held", kind: "benchmark", gpus: [G0, G1], holder: "bench run 7" });
  expect(taken.body).toMatchObject({ ttl_s: 30, wanted: false, preemptible: false, blocked_by: [] });
  expect(Object.keys(taken.body)).not.toContain("owner");
  const path = `/leases/${taken.body.id}`;

  const renewed = await runner("PATCH", path, { json: { ttl_s: 600, token: taken.body.token } });
  expect(renewed).toMatchObject({ status: 200, body: { ttl_s: 600, token: taken.body.token } });
  expect(Date.parse(renewed.body.expires_at)).toBeGreaterThan(Date.parse(taken.body.expires_at) + 500_000);
  const stale = await runner("PATCH", path, { json: { token: taken.body.token - 1 } });
  expect(stale).toMatchObject({ status: 409, body: { code: "lease_ended" } });
  expect((await reader("GET", "/leases")).body).toEqual({ items: [renewed.body], next_cursor: null });
  expect((await reader("GET", path)).body).toEqual(renewed.body);

  expect((await runner("DELETE", path)).status).toBe(204);
  expect((await runner("DELETE", path)).status).toBe(204);
  expect((await reader("GET", path)).body).toMatchObject({ state: "ended", token: taken.body.token });
  expect(await runner("PATCH", path, { json: {} })).toMatchObject({ status: 409, body: { code: "lease_ended" } });
  expect((await reader("GET", "/leases")).body.items).toEqual([]);
});

it("keeps captures away until it is released, and waits for them itself", async () => {
  const { body: benchmark } = await take(runner, [G0]);
  const capture = await ofWorker.request({ kind: "profile", gpus: [G0], holder: "w", ttlS: 15, owner: null });
  expect(capture).toMatchObject({ state: "waiting", blocked_by: [benchmark.id] });
  expect((await runner("GET", `/leases/${benchmark.id}`)).body.wanted).toBe(true);
  const granted = ofWorker.wait(capture.id, { ms: 60_000 });
  await runner("DELETE", `/leases/${benchmark.id}`);
  expect(await granted).toMatchObject({ state: "held" });

  const queued = await take(runner, [G0, G1]);
  expect(queued.status).toBe(202);
  expect(queued.headers.get("retry-after")).toBe("1");
  expect(queued.body).toMatchObject({ state: "waiting", token: null, blocked_by: [capture.id] });
  const held = runner("GET", `${queued.headers.get("location")}?wait=60`);
  await ofWorker.release(capture.id);
  expect(await held).toMatchObject({ status: 200, body: { state: "held", gpus: [G0, G1] } });
  expect((await held).headers.get("retry-after")).toBeNull();
});

it("waits in the request for a lease as long as it says", async () => {
  const { body: first } = await take(other, [G0]);
  const short = await runner("POST", "/leases", {
    json: { gpus: [G0], holder: "short" },
    headers: { prefer: "wait=0" },
  });
  expect(short.status).toBe(202);
  expect(short.headers.get("preference-applied")).toBe("wait=0");
  await runner("DELETE", `/leases/${short.body.id}`);
  const long = take(runner, [G0], "?wait=60");
  await until(async () => (await ofWorker.list()).length === 2);
  await other("DELETE", `/leases/${first.id}`);
  expect(await long).toMatchObject({ status: 201, body: { state: "held" } });
});

it("says when somebody else ended it while it waited", async () => {
  await take(other, [G0]);
  const waiting = take(runner, [G0], "?wait=60");
  await until(async () => (await ofWorker.list()).length === 2);
  const [, mine] = (await reader("GET", "/leases")).body.items;
  expect((await admin("DELETE", `/leases/${mine.id}`)).status).toBe(204);
  expect(await waiting).toMatchObject({ status: 409, body: { code: "lease_ended" } });
});

it("gives its place up when the client goes away before the answer", async () => {
  await take(other, [G0]);
  const cut = new AbortController();
  const waiting = runner("POST", "/leases?wait=60", {
    json: { gpus: [G0, G1], holder: "impatient" },
    signal: cut.signal,
  });
  await until(async () => (await ofWorker.list()).length === 2);
  const next = await ofWorker.request({ kind: "profile", gpus: [G1], holder: "w", ttlS: 15, owner: null });
  expect(next.state).toBe("waiting");
  cut.abort();
  await expect(waiting).rejects.toThrow();
  expect(await ofWorker.wait(next.id, { ms: 60_000 })).toMatchObject({ state: "held" });
});

it("is changed by its owner or an admin only", async () => {
  const { body: lease } = await take(runner, [G0]);
  const path = `/leases/${lease.id}`;
  for (const [method, json] of [["PATCH", {}], ["DELETE"]] as const) {
    const refused = await other(method, path, json === undefined ? {} : { json });
    expect(refused).toMatchObject({ status: 403, body: { code: "role_missing" } });
    expect(refused.body.detail).toContain("belongs to another key");
  }
  expect((await reader("DELETE", path)).status).toBe(403);
  expect((await reader("POST", "/leases", { json: {} })).status).toBe(403);
  expect((await admin("PATCH", path, { json: {} })).status).toBe(200);
  expect((await admin("DELETE", path)).status).toBe(204);
});

it("stops a worker's capture when an admin deletes its lease, and only then", async () => {
  const lease = await ofWorker.request({ kind: "profile", gpus: [G0], holder: "w", ttlS: 15, owner: null });
  const keeper = keepLease(ofWorker, lease);
  const refused = await runner("DELETE", `/leases/${lease.id}`);
  expect(refused).toMatchObject({ status: 403, body: { code: "role_missing" } });
  expect(refused.body.detail).toContain("belongs to a worker");
  expect((await runner("GET", `/leases/${lease.id}`)).body).toMatchObject({ kind: "profile", state: "held" });
  expect(keeper.lost.aborted).toBe(false);
  const lost = new Promise((resolve) => keeper.lost.addEventListener("abort", resolve));
  expect((await admin("DELETE", `/leases/${lease.id}`)).status).toBe(204);
  await lost;
  expect(keeper.lost.reason).toMatchObject({ reason: "released" });
  await keeper.release();
});

it("keeps a place alive for whoever asked for it, not for those who look", async () => {
  await take(other, [G0]);
  const json = { gpus: [G0], holder: "h", ttl_s: 5 };
  const [{ body: asked }, { body: watched }] = await Promise.all([
    runner("POST", "/leases", { json }),
    runner("POST", "/leases", { json }),
  ]);
  await until(async () => {
    await runner("GET", `/leases/${asked.id}`);
    return (await reader("GET", `/leases/${watched.id}`)).body.state === "ended";
  });
  const { body: alive } = await runner("GET", `/leases/${asked.id}`);
  expect(alive.state).toBe("waiting");
  expect(Date.parse(alive.expires_at)).toBeGreaterThan(Date.parse(asked.expires_at));
});

it("says what is wrong with a request", async () => {
  const unknown = await take(runner, [G0, "GPU-x"]);
  expect(unknown).toMatchObject({ status: 422, body: { code: "no_such_gpu" } });
  expect(unknown.body.errors).toEqual([
    { pointer: "/gpus/1", code: "no_such_gpu", detail: expect.stringContaining(`${G2} (NVIDIA H200, worker host-b)`) },
  ]);
  const nowhere = await runner("POST", "/leases", { json: { worker: "host-c", holder: "h" } });
  expect(nowhere).toMatchObject({ status: 422, body: { code: "no_such_gpu" } });
  for (const [json, pointer] of [
    [{ holder: "h" }, "/gpus"],
    [{ holder: "h", gpus: [G0], worker: "host-a" }, "/worker"],
    [{ holder: "h", gpus: [] }, "/gpus"],
    [{ holder: "h", gpus: ["0"] }, "/gpus/0"],
    [{ gpus: [G0] }, "/holder"],
    [{ holder: "h", gpus: [G0], ttl_s: 4 }, "/ttl_s"],
    [{ holder: "h", gpus: [G0], preemptible: true }, "/preemptible"],
  ] as const) {
    const { status, body } = await runner("POST", "/leases", { json });
    expect([status, body.code, body.errors[0].pointer]).toEqual([422, "validation_failed", pointer]);
  }
  expect((await take(runner, [G0], "?wait=-1")).body.code).toBe("invalid_query");
  expect((await runner("GET", `/leases/${UNKNOWN}`)).status).toBe(404);
  expect((await runner("PATCH", `/leases/${UNKNOWN}`, { json: {} })).status).toBe(404);
  expect((await runner("DELETE", `/leases/${UNKNOWN}`)).status).toBe(404);
  expect((await reader("GET", "/leases")).body.items).toEqual([]);
});

it("answers 503 while Redis is away, and has the leases when it is back", async () => {
  const { body: lease } = await take(runner, [G0]);
  await until(async () => /^aof_buffer_length:0\r$/m.test(await redis.producer.info("persistence")));
  await server.kill();
  await until(async () => (await reader("GET", "/readyz")).status === 503);
  for (const answer of [
    await take(runner, [G1]),
    await reader("GET", "/leases"),
    await runner("PATCH", `/leases/${lease.id}`, { json: {} }),
  ]) {
    expect(answer).toMatchObject({ status: 503, body: { code: "unavailable" } });
    expect(answer.headers.get("retry-after")).toBe("5");
  }
  await server.start();
  await until(async () => (await reader("GET", "/readyz")).status === 200);
  expect((await reader("GET", `/leases/${lease.id}`)).body).toMatchObject({ state: "held", token: lease.token });
});

it("answers whoever waits when the service stops; the place is kept", async () => {
  const second = await startTestService({ DATA_DIR: temporaryFolder(), REDIS_URL: server.url });
  const [gpu] = registration().gpus;
  if (!gpu) throw new Error("a worker has GPUs");
  await second.call("PUT", "/workers/host-a", { json: registration({ gpus: [{ ...gpu, uuid: G0 }] }) });
  await until(async () => (await ofWorker.list().catch(() => null)) !== null);
  await take(other, [G0]);
  const waiting = take(second.call, [G0], "?wait=60");
  await until(async () => (await ofWorker.list()).length === 2);
  await second.close();
  const { status, body } = await waiting;
  expect(status).toBe(202);
  expect(await ofWorker.get(body.id)).toMatchObject({ state: "waiting" });
});

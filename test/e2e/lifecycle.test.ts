import { afterAll, beforeAll, expect, it } from "vitest";
import { onBothDatabases, temporaryFolder } from "../helpers/databases.ts";
import { fixture, H200 } from "../helpers/fixtures.ts";
import { type TestRedis, testRedis } from "../helpers/redis.ts";
import { type Client, startTestService, submit, type TestService, untilFinal, upload } from "../helpers/service.ts";
import { until } from "../helpers/until.ts";

const SMALL = fixture(`${H200}h200-graph-nodes.ncu-rep.gz`);
const LARGE = fixture(`${H200}h200-full.ncu-rep.gz`);

await onBothDatabases((database) => {
  let redis: TestRedis;
  let service: TestService;
  let call: Client;
  beforeAll(async () => {
    redis = testRedis(temporaryFolder());
    await redis.start();
    service = await startTestService({ ...(await database.settings()), REDIS_URL: redis.url });
    call = service.call;
  });
  afterAll(async () => {
    await service.close();
    await redis.kill();
  });

  it("has no result before its end, waits when asked to, and can be canceled once", async () => {
    const { id: reportId } = await upload(call, SMALL);
    // Without its queue nothing moves: the profile stays queued for as long as the test looks at it.
    await redis.kill();
    const { id } = await submit(call, reportId);
    for (const path of ["result", "roofline.svg", "stages.svg", "timeline.svg"]) {
      const early = await call("GET", `/profiles/${id}/${path}`, { headers: { accept: "*/*" } });
      expect(early).toMatchObject({ status: 409, body: { code: "not_ready" } });
      expect(early.headers.get("retry-after")).toMatch(/^\d+$/);
    }
    const preferred = await call("GET", `/profiles/${id}`, { headers: { prefer: "respond-async, wait=0" } });
    expect(preferred.headers.get("preference-applied")).toBe("wait=0");
    expect(preferred.headers.get("vary")).toBe("Prefer");
    expect(preferred.headers.get("retry-after")).toMatch(/^\d+$/);
    const tag = preferred.headers.get("etag") ?? "";
    expect((await call("GET", `/profiles/${id}`, { headers: { "if-none-match": tag } })).status).toBe(304);
    // The query says more than the header.
    const both = await call("GET", `/profiles/${id}?wait=0.01`, { headers: { prefer: "wait=60" } });
    expect(both.headers.get("preference-applied")).toBe("wait=0.01");

    const waiting = call("GET", `/profiles/${id}?wait=60`, { headers: { "if-none-match": tag } });
    expect(await call("POST", `/profiles/${id}/cancel`)).toMatchObject({
      status: 202,
      body: { state: "canceled", last_event: 2 },
    });
    expect(await waiting).toMatchObject({ status: 200, body: { state: "canceled" } });
    expect(await call("POST", `/profiles/${id}/cancel`)).toMatchObject({
      status: 202,
      body: { state: "canceled", last_event: 2 },
    });
    expect(await call("GET", `/profiles/${id}/result`)).toMatchObject({
      status: 404,
      body: { code: "not_found", detail: "The profile was canceled, so it has no result." },
    });
    const final = await call("GET", `/profiles/${id}?wait=60`);
    expect(final.headers.get("retry-after")).toBeNull();
    await redis.start();
  });

  it("is canceled in the middle of its analysis, and the worker goes on with the next", async () => {
    const { id: reportId } = await upload(call, LARGE);
    const { id } = await submit(call, reportId);
    await until(async () => (await call("GET", `/profiles/${id}?wait=10`)).body.state !== "queued");
    const answer = await call("POST", `/profiles/${id}/cancel`);
    // A fast machine may have finished it by now; either way it has one final state.
    expect(answer.status === 202 ? "canceled" : "succeeded").toBe((await untilFinal(call, id)).state);
    const next = await submit(call, reportId, { target: "fused_moe_kernel" });
    expect(await untilFinal(call, next.id)).toMatchObject({ state: "succeeded" });
    expect(await call("POST", `/profiles/${next.id}/cancel`)).toMatchObject({
      status: 409,
      body: { code: "not_cancelable" },
    });
  });

  it("reads several reports as one", async () => {
    const first = await upload(call, SMALL);
    const second = await upload(call, fixture(`${H200}tiny-verdict.ncu-rep.gz`));
    const submitted = await call("POST", "/profiles", {
      json: {
        target: "full pipeline",
        source: { kind: "report", report_ids: [first.id, second.id], timeline_ids: [] },
      },
    });
    expect(submitted.status).toBe(202);
    expect(await untilFinal(call, submitted.body.id)).toMatchObject({ state: "succeeded" });
    const { body } = await call("GET", `/profiles/${submitted.body.id}/result`);
    expect(body.provenance.reports.map(({ id }: { id: string }) => id)).toEqual([first.id, second.id]);
    const raw = await call("GET", `/profiles/${submitted.body.id}/report?index=1`);
    expect(raw.headers.get("repr-digest")).toBe(`sha-256=:${Buffer.from(second.sha256, "hex").toString("base64")}:`);
  });
});

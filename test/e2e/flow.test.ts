import { afterAll, beforeAll, expect, it } from "vitest";
import { onBothDatabases } from "../helpers/databases.ts";
import { fixture, H200 } from "../helpers/fixtures.ts";
import { startTestService, submit, type TestService, untilFinal, upload } from "../helpers/service.ts";

const H200_FULL = fixture(`${H200}h200-full.ncu-rep.gz`);

await onBothDatabases((database) => {
  let service: TestService;
  let reportId: string;

  beforeAll(async () => {
    service = await startTestService(await database.settings());
    reportId = (await upload(service.call, H200_FULL)).id;
  });
  afterAll(() => service.close());

  it("takes a report from upload to a ranked result and a picture", async () => {
    const { call } = service;
    const submitted = await call("POST", "/profiles", {
      json: {
        target: "full-pipeline",
        model: "DeepSeek V3",
        engine: "VLLM",
        source: { kind: "report", report_ids: [reportId] },
      },
    });
    expect(submitted.status).toBe(202);
    expect(submitted.headers.get("location")).toBe(`/profiles/${submitted.body.id}`);
    expect(submitted.headers.get("retry-after")).toMatch(/^\d+$/);
    expect(submitted.body).toMatchObject({
      state: "queued",
      reused: false,
      last_event: 1,
      request: {
        target: "full pipeline",
        model: "DeepSeek V3",
        engine: "vllm",
        concurrency: 128,
        top_n: 10,
        rank: 0,
        objective: "bottleneck",
      },
    });

    const { id } = submitted.body;
    const profile = await untilFinal(call, id);
    expect(profile).toMatchObject({ state: "succeeded", failure: null, last_event: 3, progress: null });
    expect(profile.started_at).not.toBeNull();
    expect(profile.finished_at).not.toBeNull();

    const result = await call("GET", `/profiles/${id}/result`);
    expect(result.body).toMatchObject({ kind: "pipeline", launches: 19, partial: false });
    expect(result.body.provenance.reports[0]).toMatchObject({ id: reportId });
    expect(result.headers.get("cache-control")).toBe("private, max-age=31536000, immutable");
    const again = await call("GET", `/profiles/${id}/result`, {
      headers: { "if-none-match": result.headers.get("etag") ?? "" },
    });
    expect(again.status).toBe(304);

    for (const name of ["roofline", "stages", "timeline"]) {
      const picture = await call("GET", `/profiles/${id}/${name}.svg`);
      expect(picture.headers.get("content-type")).toContain("image/svg+xml");
      expect(picture.body).toMatch(/^<svg [\s\S]*<\/svg>\s*$/);
    }
  });

  it("gives one kernel the fields of a kernel result", async () => {
    const { id } = await submit(service.call, reportId, { target: "fused_moe_kernel" });
    await untilFinal(service.call, id);
    const { body } = await service.call("GET", `/profiles/${id}/result`);
    expect(body).toMatchObject({
      kind: "kernel",
      target: "fused_moe_kernel",
      roofline: "memory-bound",
      shared_memory_usage_bytes: 73728,
    });
    expect(body.memory_bw_utilization).toBeCloseTo(0.8835, 3);
    expect(body.wall_clock_us).toBeCloseTo(1018.464, 2);
  });

  it("fails a profile whose target is not in the report, and says what is", async () => {
    const { id } = await submit(service.call, reportId, { target: "no_such_kernel" });
    const profile = await untilFinal(service.call, id);
    expect(profile).toMatchObject({
      state: "failed",
      last_event: 3,
      failure: { code: "no_matching_kernel", retryable: false },
    });
    const result = await service.call("GET", `/profiles/${id}/result`);
    expect(result).toMatchObject({ status: 404, body: { code: "not_found" } });
    expect(result.body.detail).toContain("no_matching_kernel");
  });

  it("reads what is complete of a torn report, and says so", async () => {
    const { id: torn } = await upload(service.call, H200_FULL.subarray(0, Math.floor(H200_FULL.length / 2)));
    const { id } = await submit(service.call, torn);
    expect(await untilFinal(service.call, id)).toMatchObject({ state: "succeeded" });
    const { body } = await service.call("GET", `/profiles/${id}/result`);
    expect(body.partial).toBe(true);
    expect(body.launches).toBeGreaterThan(0);
    expect(body.launches).toBeLessThan(19);
    expect(body.provenance.reports[0].partial_at_byte).toBeGreaterThan(0);
  });

  it("fails a profile whose report turns out to be damaged, in the reader's words", async () => {
    const damaged = Buffer.concat([H200_FULL.subarray(0, 4), Buffer.alloc(4096, 0xff)]);
    const { id: reportId } = await upload(service.call, damaged);
    const { id } = await submit(service.call, reportId);
    const profile = await untilFinal(service.call, id);
    expect(profile).toMatchObject({ state: "failed", failure: { code: "report_unreadable", retryable: false } });
    expect(profile.failure?.evidence).toMatchObject({ report_id: reportId });
    expect(profile.failure?.hint).toBeTruthy();
  });

  it("keeps the same bytes once", async () => {
    const { status, body, headers } = await service.call("POST", "/reports", {
      body: H200_FULL,
    });
    expect(status).toBe(200);
    expect(body.id).toBe(reportId);
    expect(headers.get("location")).toBe(`/reports/${reportId}`);
    expect(await service.call("GET", `/reports/${reportId}`)).toMatchObject({ status: 200, body });
  });

  it("hands the bytes out again, whole and in parts", async () => {
    const { call } = service;
    const { id } = await submit(call, reportId);
    const path = `/profiles/${id}/report`;
    const whole = await call("GET", path);
    expect(Buffer.from(whole.body).equals(H200_FULL)).toBe(true);
    expect(whole.headers.get("content-disposition")).toMatch(
      /^attachment; filename\*=UTF-8''report-[0-9a-f]{12}\.ncu-rep$/,
    );
    const part = await call("GET", path, { headers: { range: "bytes=10-19" } });
    expect(part.status).toBe(206);
    expect(part.headers.get("content-range")).toBe(`bytes 10-19/${H200_FULL.length}`);
    expect(Buffer.from(part.body).equals(H200_FULL.subarray(10, 20))).toBe(true);
    const end = await call("GET", path, { headers: { range: "bytes=-5" } });
    expect(Buffer.from(end.body).equals(H200_FULL.subarray(-5))).toBe(true);
    const outside = await call("GET", path, { headers: { range: `bytes=${H200_FULL.length}-` } });
    expect(outside).toMatchObject({ status: 416, body: { code: "range_not_satisfiable" } });
    const head = await call("HEAD", path);
    expect(head.headers.get("content-length")).toBe(String(H200_FULL.length));
    const beyond = await call("GET", `${path}?index=1`);
    expect(beyond).toMatchObject({ status: 404, body: { code: "not_found" } });
    const stale = await call("GET", path, { headers: { range: "bytes=0-0", "if-range": '"other"' } });
    expect(stale.status).toBe(200);
  });
});

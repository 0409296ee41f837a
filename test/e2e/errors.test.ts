import { request as httpRequest } from "node:http";
import { connect } from "node:net";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { temporaryFolder } from "../helpers/databases.ts";
import { fixture, H200 } from "../helpers/fixtures.ts";
import { type Client, startTestService, submit, type TestService, untilFinal, upload } from "../helpers/service.ts";

const UNKNOWN_ID = "01a23007-a5e8-7481-a240-6068bf8be8a2";
const TINY = fixture(`${H200}tiny-full.ncu-rep.gz`);

let service: TestService;
let call: Client;
let reportId: string;

beforeAll(async () => {
  service = await startTestService({
    DATA_DIR: temporaryFolder(),
    MAX_REPORT_BYTES: "40MB",
    REPORT_QUOTA_BYTES: "90MB",
  });
  call = service.call;
  reportId = (await upload(call, TINY)).id;
});
afterAll(() => service.close());

/** Sends a body to POST /profiles and returns the items of the problem. */
async function refusal(
  body: object,
): Promise<{ status: number; code: string; items: { pointer: string; detail: string; code: string }[] }> {
  const answer = await call("POST", "/profiles", { json: body });
  return { status: answer.status, code: answer.body.code, items: answer.body.errors };
}

const source = () => ({ kind: "report", report_ids: [reportId] });

/** Sends bytes as they are and returns everything that comes back. */
function raw(text: string): Promise<string> {
  const { hostname, port } = new URL(service.url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(text));
    let answer = "";
    socket.on("data", (chunk) => {
      answer += chunk;
    });
    socket.on("end", () => resolve(answer)).on("error", reject);
  });
}

describe("a problem document", () => {
  it("comes for an unknown path", async () => {
    const { status, headers, body } = await call("GET", "/nothing?x=1");
    expect(status).toBe(404);
    expect(headers.get("content-type")).toContain("application/problem+json");
    expect(body).toMatchObject({ type: "/problems/not-found", code: "not_found", status: 404, instance: "/nothing" });
  });

  it("names a type that can be looked up", async () => {
    expect(await call("GET", "/problems/use-benchmark-serving")).toMatchObject({
      status: 200,
      body: { type: "/problems/use-benchmark-serving", code: "use_benchmark_serving", status: 422 },
    });
    expect((await call("GET", "/problems/nonsense")).status).toBe(404);
  });

  it("comes for a wrong method, with those that work", async () => {
    for (const [method, path, allow] of [
      ["DELETE", "/profiles", "GET, HEAD, POST"],
      ["PUT", `/profiles/${UNKNOWN_ID}/cancel`, "POST"],
      ["OPTIONS", "/reports", "POST"],
    ] as const) {
      const { status, headers, body } = await call(method, path);
      expect(status).toBe(405);
      expect(headers.get("allow")).toBe(allow);
      expect(body.code).toBe("method_not_allowed");
    }
  });

  it("comes for JSON that is none", async () => {
    for (const text of ["{", "{'a':1}", '{"a":}', '{"__proto__":{"x":1}}', "\u0000"]) {
      const { status, body } = await call("POST", "/profiles", {
        body: text,
        headers: { "content-type": "application/json" },
      });
      expect(status).toBe(400);
      expect(body.code).toBe("malformed_json");
    }
  });

  it("comes for a body of another media type, with the one that works", async () => {
    const json = await call("POST", "/profiles", {
      body: "target=x",
      headers: { "content-type": "application/x-www-form-urlencoded" },
    });
    expect(json).toMatchObject({ status: 415, body: { code: "unsupported_media_type" } });
    expect(json.headers.get("accept-post")).toBe("application/json");
    const coded = await call("POST", "/profiles", {
      body: "{}",
      headers: { "content-type": "application/json", "content-encoding": "gzip" },
    });
    expect(coded).toMatchObject({ status: 415, body: { code: "unsupported_media_type" } });
    const form = await call("POST", "/reports", {
      body: "x",
      headers: { "content-type": "multipart/form-data; boundary=b" },
    });
    expect(form.status).toBe(415);
    expect(form.headers.get("accept-post")).toBe("application/octet-stream");
  });

  it("comes where no acceptable media type is offered", async () => {
    expect(await call("GET", "/profiles", { headers: { accept: "text/html" } })).toMatchObject({
      status: 406,
      body: { code: "not_acceptable" },
    });
    expect((await call("GET", "/profiles", { headers: { accept: "text/html, */*;q=0.1" } })).status).toBe(200);
  });

  it("comes for a URI or header fields that are too long, and for what is not HTTP", async () => {
    expect(await call("GET", `/profiles?model=${"x".repeat(9000)}`)).toMatchObject({
      status: 414,
      body: { code: "uri_too_long" },
    });
    const big = await raw(`GET /livez HTTP/1.1\r\nHost: localhost\r\nX-Big: ${"x".repeat(20_000)}\r\n\r\n`);
    expect(big).toMatch(/^HTTP\/1\.1 431 [\s\S]*application\/problem\+json[\s\S]*"code":"headers_too_large"/);
    expect(await raw("NONSENSE\r\n\r\n")).toMatch(/^HTTP\/1\.1 400 [\s\S]*"code":"bad_request"/);
    expect(await raw("GET /%zz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")).toMatch(
      /^HTTP\/1\.1 400 [\s\S]*"code":"bad_request"/,
    );
  });

  it("comes for a JSON body over the limit", async () => {
    const { status, body } = await call("POST", "/profiles", { json: { target: "x".repeat(1024 * 1024) } });
    expect(status).toBe(413);
    expect(body.code).toBe("content_too_large");
  });
});

describe("POST /profiles", () => {
  it("names unknown fields and wrong types, with what was given and what would work", async () => {
    const { status, code, items } = await refusal({
      target: "x",
      source: source(),
      modle: "m",
      concurrency: "many",
      top_n: 0,
      reuse: "often",
      ncu: { sets: "full" },
    });
    expect(status).toBe(422);
    expect(code).toBe("validation_failed");
    expect(items.map((item) => item.pointer).sort()).toEqual([
      "/concurrency",
      "/modle",
      "/ncu/sets",
      "/reuse",
      "/top_n",
    ]);
    const details = Object.fromEntries(items.map((item) => [item.pointer, item.detail]));
    expect(details["/modle"]).toBe('given: "m"; there is no such field here');
    expect(details["/concurrency"]).toBe('given: "many"; expected number');
    expect(details["/top_n"]).toContain("at least 1");
    expect(details["/reuse"]).toContain('expected one of "session", "any", "never"');
  });

  it("names the pointer of names with slashes and tildes as RFC 6901 says", async () => {
    const { items } = await refusal({ target: "x", source: source(), labels: { "a/b~c": 3 } });
    expect(items).toEqual([
      expect.objectContaining({ pointer: "/labels/a~1b~0c", detail: "given: 3; expected string" }),
    ]);
  });

  it("says what a source may be", async () => {
    const { items } = await refusal({ target: "x", source: { kind: "repot" } });
    expect(items).toEqual([
      expect.objectContaining({
        pointer: "/source/kind",
        detail: 'given: "repot"; expected one of "report", "workload", "command"',
      }),
    ]);
    expect((await refusal({ target: "x", source: { kind: "report" } })).items).toEqual([
      expect.objectContaining({
        pointer: "/source/report_ids",
        detail: "given: nothing; expected ids from POST /reports, here or in timeline_ids",
      }),
    ]);
  });

  it("refuses what is missing altogether", async () => {
    const { status, body } = await call("POST", "/profiles", { headers: { "content-type": "application/json" } });
    expect(status).toBe(422);
    expect(body.errors).toEqual([{ pointer: "", code: "validation_failed", detail: "given: null; expected object" }]);
  });

  it("sends end-to-end throughput to the engine's own benchmark", async () => {
    const { status, body } = await call("POST", "/profiles", {
      json: { target: "x", source: source(), objective: "e2e_throughput" },
    });
    expect(status).toBe(422);
    expect(body).toMatchObject({
      type: "/problems/use-benchmark-serving",
      code: "use_benchmark_serving",
      errors: [{ pointer: "/objective" }],
    });
    expect(body.hint).toContain("vllm bench serve");
  });

  it("says that there is no worker, no workload, no such report", async () => {
    expect(await refusal({ target: "x", model: "m", engine: "vllm" })).toMatchObject({
      status: 422,
      code: "no_live_worker",
      items: [{ pointer: "/model" }],
    });
    expect(await refusal({ target: "x", source: { kind: "workload", name: "w" } })).toMatchObject({
      status: 422,
      code: "no_live_worker",
      items: [{ pointer: "/source/name" }],
    });
    expect(await refusal({ target: "x", source: { kind: "command", argv: ["ls"] } })).toMatchObject({
      status: 422,
      code: "no_live_worker",
      items: [{ pointer: "/source/kind" }],
    });
    for (const id of [UNKNOWN_ID, "nonsense", "' or 1=1 --"]) {
      expect(await refusal({ target: "x", source: { kind: "report", report_ids: [reportId, id] } })).toMatchObject({
        status: 422,
        code: "no_such_report",
        items: [{ pointer: "/source/report_ids/1" }],
      });
    }
    expect(await refusal({ target: "x", source: { ...source(), timeline_ids: [UNKNOWN_ID] } })).toMatchObject({
      status: 422,
      code: "no_such_report",
      items: [{ pointer: "/source/timeline_ids/0" }],
    });
  });

  it("requires model and engine only where no source is given", async () => {
    expect((await refusal({ target: "x" })).items.map((item) => item.pointer)).toEqual(["/model", "/engine"]);
    expect((await refusal({ target: "x", source: source(), engine: "tgi" })).items).toEqual([
      expect.objectContaining({ pointer: "/engine", detail: 'given: "tgi"; expected one of vllm, sglang, none' }),
    ]);
  });

  it("refuses a pattern that does not compile, a report given twice, text that cannot be stored, what it cannot do yet", async () => {
    expect((await refusal({ target: "/(/", source: source() })).items).toEqual([
      expect.objectContaining({ pointer: "/target" }),
    ]);
    expect(
      (await refusal({ target: "x", source: { kind: "report", report_ids: [reportId, reportId.toUpperCase()] } }))
        .items,
    ).toEqual([expect.objectContaining({ pointer: "/source/report_ids/1" })]);
    expect(
      (await refusal({ target: "a\0b", session: "s\0", source: source() })).items.map((item) => item.pointer),
    ).toEqual(["/target", "/session"]);
    expect(
      (
        await refusal({
          target: "x",
          source: source(),
          window: { step: 1 },
          webhook: { url: "https://example.org/" },
        })
      ).items.map((item) => item.pointer),
    ).toEqual(["/window", "/webhook"]);
  });
});

describe("POST /reports", () => {
  it("refuses what is no report, by what its bytes say", async () => {
    const cases: [string, Uint8Array][] = [
      ["empty", new Uint8Array()],
      ["wrong_kind", Buffer.from("PK\u0003\u0004".padEnd(200, "\0"), "latin1")],
      ["wrong_kind", Buffer.from("<!DOCTYPE html><html><body>404</body></html>")],
      ["unknown_format", Buffer.alloc(5000, 7)],
    ];
    for (const [reason, bytes] of cases) {
      const { status, body } = await call("POST", "/reports", { body: bytes });
      expect(status).toBe(422);
      expect(body).toMatchObject({ code: "report_unreadable", errors: [{ code: reason }] });
      expect(body.hint).toBeTruthy();
    }
  });

  it("answers before all of a large wrong file has come, and lets the client see it", async () => {
    let sent = 0;
    const { status, body } = await new Promise<{ status: number; body: string }>((resolve, reject) => {
      const upload = httpRequest(
        `${service.url}/reports`,
        { method: "POST", headers: { "content-type": "image/png", "content-length": 39_000_000 } },
        (response) => {
          let text = "";
          response.on("data", (chunk) => {
            text += chunk;
          });
          response.on("end", () => {
            resolve({ status: response.statusCode ?? 0, body: text });
            upload.destroy();
          });
        },
      );
      upload.on("error", reject);
      // Two megabytes, and no more until the answer comes.
      const png = Buffer.concat([Buffer.from("89504e470d0a1a0a0000000d49484452", "hex"), Buffer.alloc(2_000_000)]);
      sent += png.length;
      upload.write(png);
    });
    expect(sent).toBeLessThan(39_000_000);
    expect(status).toBe(422);
    expect(JSON.parse(body).code).toBe("report_unreadable");
  });

  it("refuses more bytes than the limit, said before and found on the way", async () => {
    const said = await call("POST", "/reports", { body: Buffer.alloc(40_000_001) });
    expect(said).toMatchObject({ status: 413, body: { code: "content_too_large" } });
    const head = TINY.subarray(0, 2_000_000);
    const chunks = new ReadableStream({
      start(controller) {
        controller.enqueue(head);
        for (let sent = head.length; sent < 41_000_000; sent += 1_000_000)
          controller.enqueue(new Uint8Array(1_000_000));
        controller.close();
      },
    });
    const found = await call("POST", "/reports", { body: chunks });
    expect(found).toMatchObject({ status: 413, body: { code: "content_too_large" } });
  });

  it("refuses what goes over the quota, and nothing of it stays", async () => {
    const first = await upload(call, fixture(`${H200}h200-full.ncu-rep.gz`));
    await upload(call, fixture(`${H200}h200-sections.ncu-rep.gz`));
    const over = await call("POST", "/reports", { body: Buffer.alloc(39_000_000, 1) });
    expect(over).toMatchObject({ status: 507, body: { code: "quota_exceeded" } });
    expect(over.headers.get("retry-after")).toMatch(/^\d+$/);
    // A small one still fits.
    const small = await upload(call, gzipSync(TINY));
    expect(small.id).not.toBe(first.id);
    expect(small).toMatchObject({ compression: "gzip", format: "ncu-rep" });
  });

  it("takes any type of content: the bytes say what they are", async () => {
    for (const type of ["application/x-www-form-urlencoded", "text/csv", "application/gzip"]) {
      const { status } = await call("POST", "/reports", {
        body: TINY,
        headers: { "content-type": type },
      });
      expect(status).toBe(200);
    }
  });
});

describe("reading", () => {
  it("answers 404 for ids that are unknown or none", async () => {
    for (const id of [UNKNOWN_ID, "1", "%00", "..%2f..%2fetc%2fpasswd", "x".repeat(3000)]) {
      for (const path of ["", "/result", "/report", "/roofline.svg", "/stages.svg", "/timeline.svg"]) {
        expect(await call("GET", `/profiles/${id}${path}`)).toMatchObject({ status: 404, body: { code: "not_found" } });
      }
      expect((await call("GET", `/reports/${id}`)).status).toBe(404);
      expect((await call("POST", `/profiles/${id}/cancel`)).status).toBe(404);
    }
  });

  it("refuses fields that would have no effect, and values nested beyond measure", async () => {
    const pointers = async (fields: object): Promise<string[]> =>
      (await refusal({ target: "full pipeline", source: source(), ...fields })).items.map(({ pointer }) => pointer);
    expect(await pointers({ gpu: "B300", pool: "a", rank: 1, ncu: { metrics: ["a"] }, max_duration_s: 5 })).toEqual(
      ["gpu", "pool", "rank", "ncu", "max_duration_s"].map((field) => `/${field}`),
    );
    expect(await pointers({ reuse: "any" })).toEqual(["/reuse"]);
    expect(await pointers({ session: "" })).toEqual(["/session"]);
    expect(await pointers({ target: "/gemm/zz" })).toEqual(["/target"]);
    const nested = `{"target":${"[".repeat(8000)}${"]".repeat(8000)}}`;
    expect(
      await call("POST", "/profiles", { body: nested, headers: { "content-type": "application/json" } }),
    ).toMatchObject({ status: 422, body: { errors: [{ pointer: "/target" }] } });
  });

  it("refuses query parameters that are wrong or unknown", async () => {
    const { id } = await submit(call, reportId);
    for (const wait of ["", "abc", "-1", "1e99"]) {
      expect(await call("GET", `/profiles/${id}?wait=${wait}`)).toMatchObject({
        status: 400,
        body: { code: "invalid_query", errors: [{ pointer: "?wait" }] },
      });
    }
    expect(await call("GET", "/profiles?stat=queued")).toMatchObject({
      status: 400,
      body: { errors: [{ pointer: "?stat" }] },
    });
    expect(await call("GET", "/profiles?state=done")).toMatchObject({
      status: 400,
      body: { errors: [{ pointer: "?state" }] },
    });
    expect(await call("GET", "/profiles?limit=0")).toMatchObject({ status: 400 });
    expect(await call("GET", "/profiles?model=%00")).toMatchObject({
      status: 400,
      body: { errors: [{ pointer: "?model" }] },
    });
    await untilFinal(call, id);
  });

  it("answers HEAD like GET, without a body", async () => {
    const { id } = await submit(call, reportId);
    await untilFinal(call, id);
    for (const path of [
      "/livez",
      "/readyz",
      "/metrics",
      "/openapi.json",
      "/profiles",
      `/profiles/${id}`,
      `/profiles/${id}/result`,
      `/profiles/${id}/roofline.svg`,
      `/profiles/${id}/stages.svg`,
      `/profiles/${id}/timeline.svg`,
      `/reports/${reportId}`,
    ]) {
      const [get, head] = [await call("GET", path), await call("HEAD", path)];
      expect(head.status).toBe(200);
      expect(head.body).toBeNull();
      expect(head.headers.get("content-type")).toBe(get.headers.get("content-type"));
    }
  });
});

describe("the service", () => {
  it("gives back the request id it was given, or one of its own", async () => {
    expect((await call("GET", "/livez", { headers: { "x-request-id": "abc-1" } })).headers.get("x-request-id")).toBe(
      "abc-1",
    );
    expect(
      (await call("GET", "/livez", { headers: { "x-request-id": "no spaces allowed" } })).headers.get("x-request-id"),
    ).toMatch(/^[0-9a-f-]{36}$/);
  });

  it("shows its documentation without the network", async () => {
    const page = await fetch(`${service.url}/docs/`);
    expect(page.status).toBe(200);
    const html = await page.text();
    expect(html).not.toMatch(/(src|href)="https?:/);
    for (const [, asset] of html.matchAll(/(?:src|href)="([^"]+)"/g)) {
      expect((await fetch(new URL(asset ?? "", page.url))).status).toBe(200);
    }
    expect((await call("GET", "/openapi.json")).body.openapi).toBe("3.1.0");
  });

  it("counts what it does", async () => {
    const { headers, body } = await call("GET", "/metrics");
    expect(headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
    expect(body).toMatch(/^profile_kernel_build_info\{version="[\d.]+"\} 1$/m);
    expect(body).toMatch(
      /^profile_kernel_http_requests_total\{route="\/profiles",method="POST",status_class="2xx"\} \d+$/m,
    );
    expect(body).toMatch(/^profile_kernel_profiles\{state="succeeded"\} \d+$/m);
    expect(body).toMatch(/^profile_kernel_queue_jobs\{queue="analysis",state="waiting"\} \d+$/m);
    expect(body).not.toContain(reportId);
  });
});

import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import createClient from "openapi-fetch";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { clientTypesText } from "../../openapi/client-types.ts";
import type { components, paths } from "../../openapi/types.d.ts";
import { temporaryFolder } from "../helpers/databases.ts";
import { fixture, H200 } from "../helpers/fixtures.ts";
import { startTestService, type TestService } from "../helpers/service.ts";

const folder = temporaryFolder();
const reportFile = join(folder, "h200-full.ncu-rep");
let service: TestService;

beforeAll(async () => {
  writeFileSync(reportFile, fixture(`${H200}h200-full.ncu-rep.gz`));
  service = await startTestService({ DATA_DIR: temporaryFolder() });
});
afterAll(() => service.close());

describe("a client whose types are generated from openapi.json", () => {
  it("has types that are up to date (npm run generate writes them anew)", async () => {
    const [document, types] = await Promise.all(
      ["openapi.json", "types.d.ts"].map((name) => readFile(new URL(`../../openapi/${name}`, import.meta.url), "utf8")),
    );
    expect(types).toBe(await clientTypesText(document ?? ""));
  });

  it("does the whole flow", async () => {
    const client = createClient<paths>({ baseUrl: service.url });
    const bytes = await readFile(reportFile);
    const uploaded = await client.POST("/reports", {
      // The document says `string` for bytes, as OpenAPI 3.1 does; what is sent are the bytes.
      body: bytes as unknown as string,
      bodySerializer: (body) => body as unknown as Uint8Array,
      headers: { "content-type": "application/octet-stream" },
    });
    expect(uploaded.error).toBeUndefined();
    const report: components["schemas"]["UploadedReport"] | undefined = uploaded.data;

    const submitted = await client.POST("/profiles", {
      body: { target: "full pipeline", source: { kind: "report", report_ids: [report?.id ?? ""] } },
    });
    expect(submitted.response.status).toBe(202);
    const id = submitted.data?.id ?? "";
    let state = submitted.data?.state;
    while (state === "queued" || state === "analyzing") {
      const polled = await client.GET("/profiles/{id}", { params: { path: { id }, query: { wait: 30 } } });
      state = polled.data?.state;
    }
    expect(state).toBe("succeeded");

    const { data: result } = await client.GET("/profiles/{id}/result", { params: { path: { id } } });
    // The union is told apart by `kind`, and the types know it.
    expect(result?.kind === "pipeline" ? result.kernels[0]?.roofline : null).toBe("compute-bound");
    const picture = await client.GET("/profiles/{id}/roofline.svg", { params: { path: { id } }, parseAs: "text" });
    expect(picture.data).toMatch(/^<svg /);
    const page = await client.GET("/profiles", { params: { query: { state: "succeeded", limit: 10 } } });
    expect(page.data?.items.map((profile) => profile.id)).toEqual([id]);

    const refused = await client.POST("/profiles", { body: { target: "x", objective: "e2e_throughput" } });
    expect(refused.error?.code).toBe("use_benchmark_serving");
  });
});

describe("curl", () => {
  const curl = async (...args: string[]): Promise<string> =>
    (await promisify(execFile)("curl", ["-sS", "--fail-with-body", ...args], { maxBuffer: 64 * 1024 * 1024 })).stdout;

  it("does the whole flow", async () => {
    const { url } = service;
    const report = JSON.parse(await curl("--data-binary", `@${reportFile}`, `${url}/reports`));
    const request = JSON.stringify({ target: "fused_moe_kernel", source: { kind: "report", report_ids: [report.id] } });
    const profile = JSON.parse(await curl("-H", "Content-Type: application/json", "-d", request, `${url}/profiles`));
    let { state } = profile;
    while (state === "queued" || state === "analyzing") {
      state = JSON.parse(await curl(`${url}/profiles/${profile.id}?wait=30`)).state;
    }
    expect(state).toBe("succeeded");
    expect(JSON.parse(await curl(`${url}/profiles/${profile.id}/result`))).toMatchObject({
      kind: "kernel",
      roofline: "memory-bound",
    });
    const svg = join(folder, "roofline.svg");
    await curl("-o", svg, `${url}/profiles/${profile.id}/roofline.svg`);
    expect(await readFile(svg, "utf8")).toMatch(/^<svg /);
    // Sent with PUT's habit and chunked: what matters are the bytes.
    const again = JSON.parse(
      await curl("-X", "POST", "-T", reportFile, "-H", "Transfer-Encoding: chunked", `${url}/reports`),
    );
    expect(again.id).toBe(report.id);
    const refused = await curl("-d", "{}", `${url}/profiles`).catch((error: { stdout: string }) => error.stdout);
    expect(JSON.parse(String(refused))).toMatchObject({ code: "unsupported_media_type" });
  });
});

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openKeys } from "../../src/access/keys.ts";
import type { Role } from "../../src/access/roles.ts";
import { readConfig } from "../../src/config.ts";
import { openSqlite } from "../../src/db/database.ts";
import { startService } from "../../src/main.ts";
import { temporaryFolder } from "../helpers/databases.ts";
import { registration } from "../helpers/fake-worker.ts";
import { fixture, H200 } from "../helpers/fixtures.ts";
import {
  type Client,
  clientOf,
  startTestService,
  submit,
  type TestService,
  untilFinal,
  upload,
} from "../helpers/service.ts";

const SMALL = fixture(`${H200}h200-graph-nodes.ncu-rep.gz`);
const ADMIN = `pk_deployment_${"a".repeat(43)}`;

describe("with keys", () => {
  let service: TestService;
  let as: Record<string, Client>;
  let profileId: string;
  let reportId: string;

  beforeAll(async () => {
    const DATA_DIR = temporaryFolder();
    const database = await openSqlite(DATA_DIR);
    const keys = openKeys(database);
    const key = async (roles: Role[], raw_artifacts = false): Promise<string> =>
      keys.create({ name: roles.join(), roles, raw_artifacts, expires_at_ms: null });
    const tokens = {
      reader: await key(["reader"]),
      submitter: await key(["submitter"]),
      raw: await key(["submitter"], true),
      worker: await key(["worker"]),
      admin: ADMIN,
    };
    await database.close();
    service = await startTestService({ DATA_DIR, API_KEY: ADMIN });
    as = Object.fromEntries(
      Object.entries(tokens).map(([name, token]) => [
        name,
        clientOf(service.url, { authorization: `Bearer ${token}` }),
      ]),
    );
    reportId = (await upload(as.submitter!, SMALL)).id;
    profileId = (await submit(as.submitter!, reportId)).id;
    await untilFinal(as.submitter!, profileId);
  });
  afterAll(() => service.close());

  it("lets nobody in without one, and says how to come in", async () => {
    for (const [method, path] of [
      ["GET", "/profiles"],
      ["POST", "/profiles"],
      ["POST", "/reports"],
      ["GET", `/profiles/${profileId}/result`],
      ["GET", "/metrics"],
      ["GET", "/openapi.json"],
    ] as const) {
      const { status, headers, body } = await service.call(method, path);
      expect(status).toBe(401);
      expect(headers.get("www-authenticate")).toBe('Bearer realm="profile-kernel"');
      expect(body.code).toBe("unauthenticated");
    }
    const wrong = await service.call("GET", "/profiles", { headers: { authorization: `Bearer ${ADMIN}x` } });
    expect(wrong.headers.get("www-authenticate")).toContain('error="invalid_token"');
    expect((await fetch(`${service.url}/docs/`)).status).toBe(401);
  });

  it("answers whether it lives and is ready to everyone", async () => {
    expect((await service.call("GET", "/livez")).status).toBe(200);
    expect((await service.call("GET", "/readyz")).status).toBe(200);
  });

  it("names the role that is missing", async () => {
    const { status, headers, body } = await as.reader!("POST", "/profiles", { json: {} });
    expect(status).toBe(403);
    expect(headers.get("www-authenticate")).toContain('error="insufficient_scope", scope="submitter"');
    expect(body).toMatchObject({ code: "role_missing", detail: "The key lacks the role submitter." });
    expect((await as.reader!("POST", "/reports", { body: SMALL })).status).toBe(403);
    expect((await as.reader!("POST", `/profiles/${profileId}/cancel`)).status).toBe(403);
    expect((await as.worker!("GET", "/profiles")).status).toBe(403);
  });

  it("shows readers everything derived and nothing raw", async () => {
    for (const path of [
      "/profiles",
      `/profiles/${profileId}`,
      `/profiles/${profileId}/result`,
      `/profiles/${profileId}/roofline.svg`,
      `/profiles/${profileId}/stages.svg`,
      `/profiles/${profileId}/timeline.svg`,
      "/metrics",
    ]) {
      expect((await as.reader!("GET", path)).status).toBe(200);
    }
    for (const name of ["reader", "submitter"]) {
      const { status, body } = await as[name]!("GET", `/profiles/${profileId}/report`);
      expect(status).toBe(403);
      expect(body).toMatchObject({ code: "role_missing", detail: "The key lacks the permission raw_artifacts." });
    }
    const raw = await as.raw!("GET", `/profiles/${profileId}/report`);
    expect(Buffer.from(raw.body).equals(SMALL)).toBe(true);
  });

  it("takes the word of workers about workers and captures, and of nobody else", async () => {
    const body = registration();
    expect((await as.worker!("PUT", "/workers/w1", { json: body })).status).toBe(200);
    for (const name of ["raw", "admin"]) {
      const both = name === "admin" ? 200 : 403;
      expect((await as[name]!("PUT", "/workers/w1", { json: body })).status).toBe(both);
    }
    const { id } = (await as.raw!("POST", "/profiles", { json: { target: "k", model: "DeepSeek V3", engine: "vllm" } }))
      .body;
    const begin = { json: { type: "begin", worker_id: "w1" } };
    expect((await as.raw!("POST", `/profiles/${id}/events`, begin)).status).toBe(403);
    expect((await as.worker!("POST", `/profiles/${id}/events`, begin)).status).toBe(200);
    const artifact = `/profiles/${id}/artifacts/log?attempt=1&worker_id=w1`;
    expect((await as.raw!("PUT", artifact, { body: "x" })).status).toBe(403);
    expect((await as.worker!("PUT", artifact, { body: "x" })).status).toBe(200);
    expect((await as.submitter!("POST", `/profiles/${id}/outcome`, { json: {} })).status).toBe(403);
    expect((await as.worker!("GET", "/workers")).status).toBe(403);
    expect((await as.reader!("GET", "/workers")).status).toBe(200);
    expect((await as.reader!("GET", "/workloads")).status).toBe(200);
    // A log holds what a program printed: as raw as a report.
    expect((await as.reader!("GET", `/profiles/${id}/log`)).body).toMatchObject({
      code: "role_missing",
      detail: "The key lacks the permission raw_artifacts.",
    });
    expect((await as.raw!("GET", `/profiles/${id}/log`)).body).toBe("x");
    await as.raw!("POST", `/profiles/${id}/cancel`);
  });

  it("lets a key cancel its own profiles, an admin those of others", async () => {
    // Ended or not: who may is decided first.
    const { id } = await submit(as.raw!, reportId);
    expect(await as.submitter!("POST", `/profiles/${id}/cancel`)).toMatchObject({
      status: 403,
      body: { code: "role_missing" },
    });
    expect([202, 409]).toContain((await as.admin!("POST", `/profiles/${id}/cancel`)).status);
    await untilFinal(as.raw!, id);
  });
});

describe("without keys", () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService({ DATA_DIR: temporaryFolder() });
  });
  afterAll(() => service.close());

  it("answers requests of this machine only: neither another name that points here nor another site", async () => {
    const status = async (headers: Record<string, string>): Promise<number> => {
      const { port } = new URL(service.url);
      const { request } = await import("node:http");
      return new Promise((resolve, reject) => {
        request({ port, host: "127.0.0.1", path: "/profiles", headers }, (response) =>
          resolve(response.resume().statusCode ?? 0),
        )
          .on("error", reject)
          .end();
      });
    };
    expect(await status({ host: "localhost" })).toBe(200);
    expect(await status({ host: "[::1]:80", origin: "http://localhost:3000" })).toBe(200);
    expect(await status({ host: "rebound.example" })).toBe(401);
    expect(await status({ host: "localhost", origin: "https://evil.example" })).toBe(401);
    expect(await status({ host: "localhost", origin: "null" })).toBe(401);
  });

  it("does not listen where other machines could reach it", async () => {
    const config = readConfig({ HOST: "0.0.0.0", PORT: "0", LOG_LEVEL: "silent", DATA_DIR: temporaryFolder() });
    await expect(startService(config)).rejects.toThrow(
      "HOST=0.0.0.0 can be reached from other machines, and there is no API key yet. Set API_KEY, or HOST=127.0.0.1.",
    );
    // What the failed start had begun is undone: the folder is free, so it can be started with a key.
    const started = await startService({ ...config, API_KEY: ADMIN, HOST: "127.0.0.1" });
    await started.close();
  });
});

it("does not share its data folder with another service", async () => {
  const DATA_DIR = temporaryFolder();
  const service = await startTestService({ DATA_DIR });
  await expect(startTestService({ DATA_DIR })).rejects.toThrow(
    /^DATA_DIR .* is in use by another profile-kernel service\./,
  );
  expect((await service.call("GET", "/readyz")).status).toBe(200);
  await service.close();
});

it("ends with a sentence where its port is taken, and leaves nothing behind", async () => {
  const service = await startTestService({ DATA_DIR: temporaryFolder() });
  const DATA_DIR = temporaryFolder();
  await expect(startTestService({ DATA_DIR, PORT: new URL(service.url).port })).rejects.toThrow("EADDRINUSE");
  // The folder is free again.
  const second = await startTestService({ DATA_DIR });
  await second.close();
  await service.close();
});

import { createHash, randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ApiRefusedError, openCaptureApi, SupersededError, untilAnswered } from "../../workers/capture-api.ts";
import { temporaryFolder } from "../helpers/databases.ts";

interface Seen {
  readonly request: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: Buffer;
}

describe("the worker's side of the API", () => {
  let server: Server;
  let url = "";
  let answer: { status: number; body: string } = { status: 200, body: "{}" };
  const seen: Seen[] = [];
  beforeAll(async () => {
    server = createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk);
      seen.push({ request: `${request.method} ${request.url}`, headers: request.headers, body: Buffer.concat(chunks) });
      response.writeHead(answer.status, { "content-type": "application/json", location: "/elsewhere" });
      response.end(answer.body);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => server.close());
  const api = (key?: string) => openCaptureApi(`${url}/`, key, "w1");
  const problem = (status: number, code: string) => ({
    status,
    body: JSON.stringify({
      type: `/problems/${code}`,
      title: "t",
      status,
      code,
      detail: "the detail",
      instance: "/",
      hint: "the hint",
    }),
  });
  const event = { type: "begin", worker_id: "w1" } as const;

  it("hands in a file with its hash and its length, under its attempt", async () => {
    const path = join(temporaryFolder(), "report");
    const bytes = randomBytes(300_000);
    writeFileSync(path, bytes);
    answer = { status: 200, body: "" };
    const attempt = { profileId: "p1", attempt: 3 };
    await api("pk_key").artifact(attempt, "report-0", path, new AbortController().signal);
    const last = seen.at(-1);
    expect(last?.request).toBe("PUT /profiles/p1/artifacts/report-0?attempt=3&worker_id=w1");
    expect(last?.headers).toMatchObject({
      authorization: "Bearer pk_key",
      "content-length": "300000",
      "content-digest": `sha-256=:${createHash("sha256").update(bytes).digest("base64")}:`,
    });
    expect(last?.body.equals(bytes)).toBe(true);
  });

  it("tells what is over from what may be tried again", async () => {
    answer = problem(409, "superseded");
    await expect(api().event("p1", event)).rejects.toBeInstanceOf(SupersededError);
    for (const [status, code] of [
      [422, "validation_failed"],
      [403, "forbidden"],
      [413, "too_large"],
      // A store that is full is not emptied in minutes.
      [507, "quota_exceeded"],
    ] as const) {
      answer = problem(status, code);
      await expect(api().event("p1", event)).rejects.toMatchObject({ name: "ApiRefusedError", status });
    }
    for (const status of [408, 429, 500, 503]) {
      answer = { status, body: "<html>busy</html>" };
      const error = await api()
        .event("p1", event)
        .catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(Error);
      expect(error).not.toBeInstanceOf(ApiRefusedError);
      expect(String(error)).toContain(`was answered with ${status}: <html>busy</html>`);
    }
  });

  it("follows no redirect and takes no other answer for an order", async () => {
    answer = { status: 302, body: "" };
    await expect(api().event("p1", event)).rejects.toThrow();
    answer = { status: 200, body: '{"attempt":"one"}' };
    await expect(api().event("p1", event)).rejects.toThrow();
  });
});

describe("a call that is repeated", () => {
  const failing = (times: number, error: Error) => {
    let calls = 0;
    return { call: async () => (++calls <= times ? Promise.reject(error) : calls), calls: () => calls };
  };
  const never = new AbortController().signal;

  it("goes on until it is answered", async () => {
    const { call } = failing(2, new Error("away"));
    expect(await untilAnswered(call, 60_000, never)).toBe(3);
  });

  it("ends where repeating cannot help, and at its limit with the last error", async () => {
    for (const error of [new SupersededError("over"), new ApiRefusedError(422, "no")]) {
      const { call, calls } = failing(5, error);
      await expect(untilAnswered(call, 60_000, never)).rejects.toBe(error);
      expect(calls()).toBe(1);
    }
    const away = new Error("away");
    await expect(untilAnswered(failing(9, away).call, 50, never)).rejects.toBe(away);
  });

  it("ends with the reason of its signal", async () => {
    const stop = new AbortController();
    const { call } = failing(1e6, new Error("away"));
    const waiting = untilAnswered(
      () => {
        stop.abort("worker_stopping");
        return call();
      },
      60_000,
      stop.signal,
    );
    await expect(waiting).rejects.toBe("worker_stopping");
  });
});

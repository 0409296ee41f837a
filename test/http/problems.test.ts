import { expect, it } from "vitest";
import { onError, rawProblem } from "../../src/http/errors.ts";
import { PROBLEMS, problem, problemType } from "../../src/http/problems.ts";
import { PROBLEM_CODES, problemSchema } from "../../src/model/problem.ts";

it("has a document for each code, and the code in its type", () => {
  for (const code of PROBLEM_CODES) {
    const document = problemSchema.parse(problem(code, "detail", "/x"));
    expect(document.type.split("/").at(-1)?.replaceAll("-", "_")).toBe(code);
    expect(document.status).toBe(PROBLEMS[code].status);
    expect(document.title).not.toBe("");
  }
  expect(new Set(PROBLEM_CODES.map(problemType)).size).toBe(PROBLEM_CODES.length);
});

/** Sends an error through the handler and returns what would be answered. */
function answered(error: Error): {
  status: number;
  body: { code: string; detail: string };
  headers: Record<string, unknown>;
} {
  const headers: Record<string, unknown> = {};
  let status = 0;
  let body = "";
  const reply = {
    code(value: number) {
      status = value;
      return reply;
    },
    header(name: string, value: unknown) {
      headers[name] = value;
      return reply;
    },
    send(text: string) {
      body = text;
      return reply;
    },
  };
  const request = { url: "/x?secret=1", id: "r1", headers: {}, log: { error: () => {} }, routeOptions: { config: {} } };
  onError(error, request as never, reply as never);
  return { status, headers, body: JSON.parse(body) };
}

it("tells nothing of the inside", () => {
  const { status, body } = answered(new Error("ENOTDIR: not a directory, open '/home/operator/secret'"));
  expect(status).toBe(500);
  expect(JSON.stringify(body)).not.toMatch(/operator|secret|at /);
  expect(body.detail).toContain("r1");
});

it("tells a database that is away from a fault", () => {
  for (const error of [
    Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" }),
    Object.assign(new Error("terminating connection due to administrator command"), { code: "57P01" }),
    Object.assign(new Error("connection failure"), { code: "08006" }),
    new Error("Connection terminated unexpectedly"),
    new Error("timeout exceeded when trying to connect"),
  ]) {
    const { status, body, headers } = answered(error);
    expect(status).toBe(503);
    expect(body.code).toBe("unavailable");
    expect(headers["retry-after"]).toBe(5);
  }
});

it("writes whole HTTP answers for what never becomes a request", () => {
  for (const [code, status] of [
    ["HPE_HEADER_OVERFLOW", 431],
    ["ERR_HTTP_REQUEST_TIMEOUT", 408],
    ["HPE_INVALID_METHOD", 400],
  ] as const) {
    const [head = "", body = ""] = rawProblem(code).split("\r\n\r\n");
    expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(head).toContain(`Content-Length: ${Buffer.byteLength(body)}`);
    expect(problemSchema.parse(JSON.parse(body)).status).toBe(status);
  }
});

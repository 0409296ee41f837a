import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { runLoad } from "../../src/capture/server/load.ts";
import { counterConcurrency } from "../../src/capture/server/load-concurrency.ts";
import { mulberry32, promptsOf } from "../../src/capture/server/load-prompts.ts";
import { type StandInEngine, serverWorkload, startStandInEngine } from "../helpers/stand-in-engine.ts";
import { until } from "../helpers/until.ts";

const NEVER = new AbortController().signal;
const workload = serverWorkload({ load: { prompt_tokens: 16, output_tokens: 4 } });
const clean: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const end of clean.splice(0)) await end();
});

async function start(...args: string[]): Promise<StandInEngine> {
  const engine = await startStandInEngine(args);
  clean.push(() => engine.end());
  return engine;
}

/** A server that answers completions in a way of its own, and what it was sent. */
async function serve(completions: RequestListener): Promise<{ baseUrl: string; bodies: Record<string, unknown>[] }> {
  const bodies: Record<string, unknown>[] = [];
  const server = createServer(async (request, response) => {
    if (request.url === "/v1/models") return void response.end('{"data": [{"id": "m"}]}');
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    bodies.push(JSON.parse(Buffer.concat(chunks).toString()));
    completions(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  clean.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, bodies };
}

const load = (baseUrl: string, more: Partial<Parameters<typeof runLoad>[0]> = {}) =>
  runLoad({ baseUrl, workload, batch: 1, inFlight: 1, seed: 1, requests: 3, signal: NEVER, ...more });

describe("a load", () => {
  it("completes as many requests as asked for and counts what the engine counts", async () => {
    const engine = await start();
    const told: number[] = [];
    const result = await load(engine.baseUrl, {
      batch: 8,
      inFlight: 4,
      requests: 10,
      onCompleted: (count, tookMs) => {
        expect(tookMs).toBeGreaterThan(0);
        told.push(count);
      },
    });
    expect(result).toEqual({
      completed: 10,
      failed: 0,
      errors: {},
      interrupted: 0,
      prompts: 80,
      completionTokens: 10 * 8 * 4,
      problems: [],
    });
    expect(told).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    const metrics = await fetch(`${engine.baseUrl}/metrics`).then((answer) => answer.text());
    expect(metrics).toContain('finished_reason="length",model_name="stand-in"} 80.0');
  });

  it("asks for exactly so many tokens of prompts that differ, and again the same with the same seed", async () => {
    const { baseUrl, bodies } = await serve((_request, response) => {
      response.setHeader("content-type", "application/json");
      response.end('{"choices":[{"index":0,"finish_reason":"length"}],"usage":{"completion_tokens":4}}');
    });
    const extra = { ...workload, load: { ...workload.load, body: { top_p: 0.5 } } };
    expect((await load(baseUrl, { workload: extra, requests: 2 })).problems).toEqual([]);
    expect(bodies[0]).toEqual({
      top_p: 0.5,
      model: "m",
      prompt: expect.any(Array),
      max_tokens: 4,
      min_tokens: 4,
      ignore_eos: true,
      temperature: 0,
      stream: true,
      stream_options: { include_usage: true },
    });
    await load(baseUrl, { requests: 2 });
    await load(baseUrl, { requests: 1, seed: 2, batch: 3 });
    const prompts = bodies.map(({ prompt }) => prompt as unknown[]);
    expect(prompts[0]).toHaveLength(16);
    expect(prompts[0]).not.toEqual(prompts[1]);
    expect(prompts.slice(2, 4)).toEqual(prompts.slice(0, 2));
    expect((prompts[4] as number[][]).map(({ length }) => length)).toEqual([16, 16, 16]);
  });

  it("keeps so many requests in flight until it is aborted, and lets go of them", async () => {
    const engine = await start("--hang-at-request", "1");
    const stop = new AbortController();
    const running = load(engine.baseUrl, { inFlight: 4, requests: null, signal: stop.signal });
    const metrics = () => fetch(`${engine.baseUrl}/metrics`).then((answer) => answer.text());
    await until(async () => (await metrics()).includes('num_requests_running{engine="0",model_name="stand-in"} 4.0'));
    stop.abort();
    expect(await running).toMatchObject({
      completed: 0,
      failed: 0,
      errors: {},
      interrupted: 4,
      completionTokens: null,
    });
    await until(async () => (await metrics()).includes('finished_reason="abort",model_name="stand-in"} 4.0'));
  });

  it("counts failures by kind, sends none again and shows the first answer", async () => {
    const engine = await start("--busy-answers", "2");
    const result = await load(engine.baseUrl, { requests: 5 });
    expect(result).toMatchObject({ completed: 3, failed: 2, errors: { http_503: 2 } });
    expect(result.problems).toEqual(['2 failed with http_503: {"error":{"message":"not ready","code":503}}']);
    expect(engine.log().match(/completed request/g)).toHaveLength(3);
  });

  it("gives up on an engine that refuses everything, or is gone", async () => {
    const engine = await start("--refuse-requests");
    const refused = await load(engine.baseUrl, { requests: null });
    expect(refused).toMatchObject({ completed: 0, failed: 10, errors: { http_400: 10 } });
    expect(refused.problems.at(-1)).toBe("given up after 10 failures in a row");
    await engine.end();
    const model = { id: "stand-in", maxModelLen: null };
    expect((await load(engine.baseUrl, { requests: null, model })).errors).toEqual({ connection_refused: 10 });
    expect((await load(engine.baseUrl)).problems).toEqual([expect.stringContaining("GET /v1/models: connect ECONN")]);
  });

  it("notices an engine that dies in the middle", async () => {
    const engine = await start("--die-at-request", "3");
    const result = await load(engine.baseUrl, { requests: 3 });
    expect(result).toMatchObject({ completed: 2, errors: { connection_reset: 1 } });
  });

  it("does not wait longer than the workload says", async () => {
    const engine = await start("--hang-at-request", "2");
    const hasty = { ...workload, load: { ...workload.load, timeout_s: 0.2 } };
    expect(await load(engine.baseUrl, { requests: 2, workload: hasty })).toMatchObject({
      completed: 1,
      errors: { timeout: 1 },
      problems: ["1 failed with timeout: no answer within 0.2 s"],
    });
  });

  it("says where fewer tokens came than asked for", async () => {
    const engine = await start("--stop-early");
    const result = await load(engine.baseUrl, { batch: 2 });
    expect(result).toMatchObject({ completed: 3, completionTokens: 6 });
    expect(result.problems).toEqual([
      "usage.completion_tokens is 2, expected 8 (3 times)",
      "finish_reason is stop, expected length (3 times)",
    ]);
  });

  it("sends nothing that the model cannot take", async () => {
    const engine = await start("--max-model-len", "19");
    const result = await load(engine.baseUrl);
    expect(result).toMatchObject({ completed: 0, failed: 0, completionTokens: null });
    expect(result.problems).toEqual([
      "prompt_tokens 16 and output_tokens 4 are more than the model takes (max_model_len 19)",
    ]);
    const large = { ...workload, load: { ...workload.load, prompt_tokens: 1_000_000 } };
    const model = { id: "m", maxModelLen: null };
    expect((await load(engine.baseUrl, { workload: large, batch: 8, model })).problems).toEqual([
      "8 prompts of 1000000 tokens are more than one request carries (4000000 tokens)",
    ]);
  });

  it.each([
    ["an error inside the stream", 'data: {"error": {"message": "boom"}}\n\ndata: [DONE]\n\n', "stream_error"],
    ["a stream that breaks off", 'data: {"choices": []}\n\n', "stream_incomplete"],
    ["a line that is no JSON", "data: {\n\ndata: [DONE]\n\n", "stream_error"],
  ])("counts %s as a failure", async (_name, stream, kind) => {
    const { baseUrl } = await serve((_request, response) => {
      response.setHeader("content-type", "text/event-stream");
      response.end(stream);
    });
    expect(await load(baseUrl, { requests: 1 })).toMatchObject({ completed: 0, errors: { [kind]: 1 } });
  });

  it("reads a stream in whatever pieces it comes, and does not invent tokens", async () => {
    const { baseUrl } = await serve((_request, response) => {
      response.setHeader("content-type", "text/event-stream; charset=utf-8");
      const text =
        ': ping\r\n\r\ndata: {"choices":[{"index":0,"text":"é","finish_reason":"length"}]}\r\n\r\ndata: [DONE]';
      for (const byte of Buffer.from(text)) response.write(Buffer.from([byte]));
      response.end();
    });
    const result = await load(baseUrl, { requests: 1 });
    expect(result).toMatchObject({ completed: 1, completionTokens: null });
    expect(result.problems).toEqual(["the answer has no usage.completion_tokens"]);
  });
});

describe("prompts", () => {
  it("come from a generator whose numbers are the same everywhere", () => {
    // First values of the reference implementation for the seed 1.
    const random = mulberry32(1);
    expect([random(), random()].map((value) => Math.floor(value * 2 ** 32))).toEqual([2693262067, 11749833]);
  });

  it("lie below the vocabulary and differ within a request, between requests and between seeds", () => {
    const of = { ...workload.load, prompt_tokens: 32, vocabulary: 100 };
    const prompts = [...promptsOf(1, 0, 50, of), ...promptsOf(1, 1, 50, of), ...promptsOf(2, 0, 50, of)];
    expect(new Set(prompts.map(String)).size).toBe(150);
    const tokens = prompts.flat();
    expect(Math.min(...tokens)).toBe(0);
    expect(Math.max(...tokens)).toBe(99);
  });
});

describe("load under ncu", () => {
  it("puts the requested concurrency inside one request", () => {
    for (const requested of [1, 2, 4, 128])
      expect(counterConcurrency(requested, workload)).toMatchObject({ inFlight: 1, batch: requested });
    expect(counterConcurrency(128, workload).rule).toBe(
      "under ncu 1 request is in flight; it carries a list of 128 prompts, as many as the requested concurrency",
    );
  });

  it("keeps 1 or 4 in flight where requests carry no lists", () => {
    const plain = { ...workload, load: { ...workload.load, batch: "none" as const } };
    expect([1, 3, 4, 128].map((requested) => counterConcurrency(requested, plain))).toMatchObject([
      { inFlight: 1, batch: null },
      { inFlight: 1, batch: null },
      { inFlight: 4, batch: null },
      { inFlight: 4, batch: null },
    ]);
    expect(counterConcurrency(128, plain).rule).toContain("4 of the requested 128 requests are in flight");
    expect(counterConcurrency(4, plain).rule).not.toContain("smaller batch");
  });
});

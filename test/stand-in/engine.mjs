/**
 * Stands in for a serving engine where there is no GPU: the routes, counters and log lines of one, and its ways to go wrong.
 *
 *   node engine.mjs --port 8000 --speaks vllm
 *
 * As an engine under `ncu --mode launch` is held at its first CUDA call, it waits, where STAND_IN_GATE names a file,
 * until that file exists; only then it serves.
 */
import { existsSync } from "node:fs";
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";

const { values: options } = parseArgs({
  options: {
    /** 0: one that is free; the line `listening on http://…` names it. */
    port: { type: "string", default: "0" },
    model: { type: "string", default: "stand-in" },
    /** Whose log lines and counters: vllm, sglang or none. */
    speaks: { type: "string", default: "vllm" },
    "max-model-len": { type: "string", default: "4096" },
    /** Answers of the health path before it is 200. */
    "unhealthy-answers": { type: "string", default: "2" },
    "request-ms": { type: "string", default: "1" },
    /** Requests that are answered 503 first. */
    "busy-answers": { type: "string", default: "0" },
    /** JIT lines are printed with this completed request: inside a window, say. */
    "jit-at-request": { type: "string" },
    /** The same with each completed request from this one on. */
    "jit-from-request": { type: "string" },
    /** The line that says that it is ready comes with this completed request. */
    "ready-at-request": { type: "string" },
    /** Ends with exit code 7 in the middle of this request. */
    "die-at-request": { type: "string" },
    /** From this request on none is answered. */
    "hang-at-request": { type: "string" },
    "never-healthy": { type: "boolean", default: false },
    "never-ready": { type: "boolean", default: false },
    /** /metrics is 404, as SGLang without --enable-metrics. */
    "no-metrics": { type: "boolean", default: false },
    /** The counter of finished requests stays where it is. */
    "stuck-counter": { type: "boolean", default: false },
    /** Answers stop early, as without ignore_eos. */
    "stop-early": { type: "boolean", default: false },
    "refuse-requests": { type: "boolean", default: false },
    "ignore-sigterm": { type: "boolean", default: false },
    "dies-at-start": { type: "boolean", default: false },
  },
});

const numberOf = (name) => (options[name] === undefined ? null : Number(options[name]));
const at = (name, count) => numberOf(name) === count;
const from = (name) => numberOf(name) ?? Number.POSITIVE_INFINITY;

const LINES = {
  vllm: {
    start: "(EngineCore_DP0 pid=212) INFO 10-06 12:00:00 [gpu_model_runner.py:2602] Starting to load model",
    jit: "DeepGemm(fp8_gemm_nt) warmup (W=torch.Size([2112, 7168])) [relaxed]: 47%|####7     |",
    graphs:
      "(EngineCore_DP0 pid=212) INFO 10-06 12:00:40 [gpu_model_runner.py:3480] Graph capturing finished in 8 secs, took 0.31 GiB",
    init: "(EngineCore_DP0 pid=212) INFO 10-06 12:00:41 [core.py:210] init engine (profile, create kv cache, warmup model) took 107.64 seconds",
    ready: "(APIServer pid=1) INFO:     Application startup complete.",
  },
  sglang: {
    start: "[2026-05-15 08:40:02 TP0] Load weight begin. avail mem=139.00 GB",
    jit: "[2026-05-15 08:40:10 TP0] Entering DeepGEMM JIT Pre-Compile session. (typically 10-20 mins)",
    graphs:
      "[2026-05-15 08:40:30 TP0] Capture cuda graph end. Time elapsed: 54.61 s. mem usage=1.00 GB. avail mem=20.00 GB.",
    init: "[2026-05-15 08:40:31] INFO:     Application startup complete.",
    ready: "[2026-05-15 08:40:32] The server is fired up and ready to roll!",
  },
  none: {
    start: "loading",
    jit: "compiling kernels",
    graphs: "capturing graphs",
    init: "loaded",
    ready: "warmup done",
  },
}[options.speaks];
if (LINES === undefined) throw new Error(`--speaks ${options.speaks}: expected vllm, sglang or none`);

const say = (line) => process.stdout.write(`${line}\n`);
const counts = { received: 0, completed: 0, prompts: 0, running: 0, aborted: 0, health: 0, busy: 0 };

for (const signal of ["SIGTERM", "SIGINT"]) {
  process.on(signal, () => {
    if (options["ignore-sigterm"]) return;
    say("shutting down");
    process.exit(0);
  });
}

if (options["dies-at-start"]) {
  process.stderr.write("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 14.00 GiB.\n");
  process.exit(1);
}
say(LINES.start);
const gate = process.env.STAND_IN_GATE;
while (gate && !existsSync(gate)) await sleep(10);
process.stdout.write(`${LINES.jit}\r${LINES.jit.replace("47%", "100%")}\n`);
say(LINES.graphs);
say(LINES.init);
const ready = () => {
  if (!options["never-ready"]) say(LINES.ready);
};
if (options["ready-at-request"] === undefined) ready();

const json = (response, status, value) => {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(value));
};
const text = (response, status, value) => {
  response.writeHead(status, { "content-type": "text/plain" });
  response.end(value);
};

function metrics() {
  const finished = options["stuck-counter"] ? 0 : counts.prompts;
  if (options.speaks === "sglang") {
    return `# TYPE sglang:num_requests_total counter\nsglang:num_requests_total{model_name="${options.model}"} ${options["stuck-counter"] ? 0 : counts.completed}.0\nsglang:num_running_reqs{model_name="${options.model}"} ${counts.running}.0\n`;
  }
  const of = (reason) => `{engine="0",finished_reason="${reason}",model_name="${options.model}"}`;
  return [
    "# TYPE vllm:request_success counter",
    `vllm:request_success_total${of("length")} ${finished}.0`,
    `vllm:request_success_total${of("stop")} 0.0`,
    `vllm:request_success_total${of("abort")} ${counts.aborted}.0`,
    "# TYPE vllm:num_requests_running gauge",
    `vllm:num_requests_running{engine="0",model_name="${options.model}"} ${counts.running}.0\n`,
  ].join("\n");
}

async function bodyOf(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return JSON.parse(Buffer.concat(chunks).toString("utf8"));
}

async function completions(request, response) {
  const body = await bodyOf(request);
  const number = ++counts.received;
  if (options["refuse-requests"])
    return json(response, 400, { error: { message: "prompt: token id 31999 is out of vocabulary", code: 400 } });
  if (counts.busy < Number(options["busy-answers"])) {
    counts.busy++;
    return json(response, 503, { error: { message: "not ready", code: 503 } });
  }
  if (at("die-at-request", number)) {
    process.stderr.write("RuntimeError: CUDA error: an illegal memory access was encountered\n");
    process.exit(7);
  }
  const batch = Array.isArray(body.prompt) && Array.isArray(body.prompt[0]) ? body.prompt.length : 1;
  const tokens = options["stop-early"] ? 1 : body.max_tokens;
  const reason = options["stop-early"] ? "stop" : "length";
  counts.running += batch;
  let gone = false;
  response.on("close", () => {
    gone = !response.writableEnded;
    if (gone) {
      counts.aborted += batch;
      counts.running -= batch;
      say(`aborted request ${number}`);
    }
  });
  if (number >= from("hang-at-request")) return;
  await sleep(Number(options["request-ms"]));
  if (gone) return;
  counts.running -= batch;
  counts.completed++;
  counts.prompts += batch;
  if (at("jit-at-request", counts.completed) || counts.completed >= from("jit-from-request")) say(LINES.jit);
  if (at("ready-at-request", counts.completed)) ready();
  say(`completed request ${counts.completed} of ${batch} prompts`);

  const choices = Array.from({ length: batch }, (_, index) => ({ index, text: "x", finish_reason: reason }));
  const usage = { prompt_tokens: 1, completion_tokens: batch * tokens, total_tokens: 1 + batch * tokens };
  const head = { id: `cmpl-${number}`, object: "text_completion", model: options.model };
  if (!body.stream) return json(response, 200, { ...head, choices, usage });
  response.writeHead(200, { "content-type": "text/event-stream" });
  const event = (value) => response.write(`data: ${JSON.stringify(value)}\n\n`);
  for (const { index } of choices) event({ ...head, choices: [{ index, text: "x", finish_reason: null }] });
  for (const choice of choices) event({ ...head, choices: [{ ...choice, text: "" }] });
  if (body.stream_options?.include_usage) event({ ...head, choices: [], usage });
  response.end("data: [DONE]\n\n");
}

function health(response, path) {
  if (path === "/health_generate" && options.speaks !== "sglang") return text(response, 404, "");
  const isHealthy = !options["never-healthy"] && ++counts.health > Number(options["unhealthy-answers"]);
  return text(response, isHealthy ? 200 : 503, "");
}

const server = createServer((request, response) => {
  const path = request.url.split("?")[0];
  const route = `${request.method} ${path}`;
  if (route === "GET /health" || route === "GET /health_generate") return health(response, path);
  if (route === "GET /metrics") {
    return options["no-metrics"] || options.speaks === "none"
      ? text(response, 404, "")
      : text(response, 200, metrics());
  }
  if (route === "GET /v1/models") {
    const model = { id: options.model, object: "model", max_model_len: Number(options["max-model-len"]) };
    return json(response, 200, { object: "list", data: [model] });
  }
  if (route === "POST /v1/completions") {
    return completions(request, response).catch((error) => {
      if (!response.headersSent) json(response, 400, { error: { message: String(error), code: 400 } });
    });
  }
  if (route === "POST /start_profile" || route === "POST /stop_profile") {
    say(path === "/start_profile" ? "profile started" : "profile stopped");
    return text(response, 200, "");
  }
  return json(response, 404, { error: { message: `no route ${route}` } });
});
server.listen(Number(options.port), "127.0.0.1", () => say(`listening on http://127.0.0.1:${server.address().port}`));

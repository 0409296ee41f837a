// The whole service on a machine with a GPU and real ncu, over HTTP. Plain Node: the machine may have no registry.
//   node test/gpu/run.mjs --cli dist/cli.js --worker dist/worker/profile-kernel.js --redis-server redis-server --out out [case …]
// Prints a table as Markdown; the reports and logs of the cases are written to --out. docs/gpu-run.md is such a table.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createWriteStream, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { gunzipSync, gzipSync } from "node:zlib";

const { values: flags, positionals: wanted } = parseArgs({
  allowPositionals: true,
  options: {
    cli: { type: "string", default: "dist/cli.js" },
    worker: { type: "string", default: "dist/worker/profile-kernel.js" },
    "redis-server": { type: "string", default: "redis-server" },
    workloads: { type: "string", default: "test/gpu/workloads.yaml" },
    out: { type: "string", default: "gpu-out" },
    rounds: { type: "string", default: "3" },
  },
});
const OUT = resolve(flags.out);
mkdirSync(OUT, { recursive: true });
const ROOT = mkdtempSync(join(tmpdir(), "profile-kernel-gpu-"));
const started = performance.now();
const seconds = (from = started) => (performance.now() - from) / 1000;
const say = (...words) => console.log(`[${seconds().toFixed(1).padStart(6)}]`, ...words);

const children = [];
function start(name, argv, env = {}, cwd = process.cwd()) {
  const log = createWriteStream(join(OUT, `${name}.log`), { flags: "a" });
  const child = spawn(argv[0], argv.slice(1), {
    cwd,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  child.stdout.pipe(log, { end: false });
  child.stderr.pipe(log, { end: false });
  children.push(child);
  return child;
}

const freePort = () =>
  new Promise((done) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });

async function until(what, look, limitS = 60) {
  const from = performance.now();
  for (;;) {
    const seen = await look();
    if (seen) return seen;
    if (seconds(from) > limitS) throw new Error(`${what} did not happen within ${limitS} s`);
    await new Promise((next) => setTimeout(next, 20));
  }
}

let api = "";
async function call(method, path, json) {
  const response = await fetch(api + path, {
    method,
    ...(json === undefined ? {} : { headers: { "content-type": "application/json" }, body: JSON.stringify(json) }),
  });
  const text = await response.text();
  const isJson = (response.headers.get("content-type") ?? "").includes("json");
  return { status: response.status, body: isJson ? JSON.parse(text) : text };
}

const submit = async (target, model, more = {}) => {
  const { status, body } = await call("POST", "/profiles", { target, model, engine: "none", ...more });
  if (status !== 202) throw new Error(`${status} ${JSON.stringify(body)}`);
  return body;
};
const get = async (id) => (await call("GET", `/profiles/${id}`)).body;
const FINAL = ["succeeded", "failed", "canceled"];
async function final(id, limitS = 240) {
  const from = performance.now();
  for (;;) {
    const { body } = await call("GET", `/profiles/${id}?wait=10`);
    if (FINAL.includes(body.state)) return body;
    if (seconds(from) > limitS) return { ...body, failure: { code: "not_final" } };
  }
}
const result = async (id) => (await call("GET", `/profiles/${id}/result`)).body;

/** Programs of workloads and tools that still run. */
function processes() {
  const found = [];
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const text = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim();
      if (/(^|\/)(ncu|tiny|TreeLauncherSubreaper) |engine\.py|kernels\.py/.test(`${text} `) && !/run\.mjs/.test(text)) {
        if (!/^.\) Z/.test(readFileSync(`/proc/${pid}/stat`, "utf8").split(" ").slice(1).join(" ")) && !isZombie(pid))
          found.push(`${pid} ${text.slice(0, 80)}`);
      }
    } catch {}
  }
  return found;
}
const isZombie = (pid) => {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  return stat.slice(stat.lastIndexOf(")") + 2).startsWith("Z");
};
const onGpu = () =>
  spawnSync("nvidia-smi", ["--query-compute-apps=pid", "--format=csv,noheader"], { encoding: "utf8" }).stdout.trim();

const rows = [];
const row = (name, expected, seen, took, good) => {
  rows.push({ name, expected, seen, took, good });
  say(good ? "ok  " : "FAIL", name, "|", seen);
};
const facts = async (profile) => {
  if (profile.state !== "succeeded") {
    const { code, message } = profile.failure ?? {};
    return `${profile.state}: ${code}${code === "internal" || code === "not_final" ? ` ${message}` : ""}`;
  }
  const { roofline, wall_clock_us, partial, provenance } = await result(profile.id);
  const { capture } = provenance;
  return `${roofline}, ${wall_clock_us?.toFixed(1)} us, ${capture?.plan?.launches ?? "?"} launches of ${capture?.plan?.survey_launches ?? "?"} surveyed${partial ? ", partial" : ""}`;
};
const keep = async (id, name) => {
  const report = await fetch(`${api}/profiles/${id}/report`);
  if (report.ok) {
    const zipped = gzipSync(Buffer.from(await report.arrayBuffer()), { level: 9 });
    if (zipped.length < 12 * 1024 * 1024) writeFileSync(join(OUT, `${name}.ncu-rep.gz`), zipped);
  }
  const log = await fetch(`${api}/profiles/${id}/log`);
  if (log.ok) writeFileSync(join(OUT, `${name}.capture.txt`), await log.text());
  const body = await result(id);
  writeFileSync(
    join(OUT, `${name}.json`),
    JSON.stringify(
      { profile: await get(id), capture: body.provenance?.capture ?? body, findings: body.findings },
      null,
      1,
    ),
  );
};

const BENCH = ["python3", "engine.py", "bench", "--batch", "32", "--prompt", "256", "--decode", "8", "--seed", "1"];
const middle = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
const show = (values) => values.map((value) => value.toFixed(2)).join(", ");
const percent = (share) => (share === null || share === undefined ? "unknown" : `${(100 * share).toFixed(1)} %`);
const key = ({ names }) => names.key;
const report = async (name) => gunzipSync(readFileSync(join(OUT, `${name}.ncu-rep.gz`)));
async function upload(bytes) {
  const response = await fetch(`${api}/reports`, {
    method: "POST",
    headers: { "content-type": "application/octet-stream" },
    body: bytes,
  });
  const body = await response.json();
  if (!response.ok) throw new Error(`POST /reports: ${response.status} ${JSON.stringify(body).slice(0, 300)}`);
  return body.id;
}
/** Verdicts by kernel, shape and place among the shape's clusters, shortest first. */
const classes = ({ kernels }) =>
  new Map(
    kernels.flatMap(({ detail }) =>
      detail.shapes.flatMap(({ grid, block, clusters }) =>
        clusters
          .toSorted((a, b) => a.timing.median_us - b.timing.median_us)
          .map(({ roofline }, at) => [`${key(detail)} ${grid} ${block} ${at}`, roofline]),
      ),
    ),
  );
/** Share of the listed kernels' time whose clusters got a verdict. */
function joined({ kernels = [] }) {
  let [sum, met] = [0, 0];
  for (const { detail } of kernels)
    for (const { clusters } of detail.shapes)
      for (const { timing, roofline } of clusters) {
        sum += timing.total_us ?? 0;
        if (roofline !== null) met += timing.total_us ?? 0;
      }
  return sum > 0 ? met / sum : 0;
}
const measured = {};

const redisPort = await freePort();
const redis = start("redis", [
  flags["redis-server"],
  "--port",
  String(redisPort),
  "--bind",
  "127.0.0.1",
  "--dir",
  ROOT,
  "--appendonly",
  "yes",
  "--save",
  "",
]);
const REDIS_URL = `redis://127.0.0.1:${redisPort}`;
const apiPort = await freePort();
api = `http://127.0.0.1:${apiPort}`;
start("service", [process.execPath, flags.cli, "serve"], {
  REDIS_URL,
  PORT: String(apiPort),
  DATA_DIR: join(ROOT, "service"),
  RECONCILE_INTERVAL_S: "2",
});
await until("the service", async () => (await fetch(`${api}/readyz`).catch(() => ({}))).ok);
say("service answers");

const workerEnv = (id, dataDir = join(ROOT, id)) => ({
  REDIS_URL,
  API_URL: api,
  WORKLOADS_FILE: resolve(flags.workloads),
  WORKER_ID: id,
  DATA_DIR: dataDir,
  SHUTDOWN_TIMEOUT_S: "1",
});
async function startWorker(id, dataDir) {
  const child = start(`worker-${id}`, [process.execPath, flags.worker, "worker", "start"], workerEnv(id, dataDir));
  await until(`worker ${id}`, async () => {
    if (child.exitCode !== null)
      throw new Error(`worker ${id} ended: ${readFileSync(join(OUT, `worker-${id}.log`), "utf8").slice(-600)}`);
    const { body } = await call("GET", `/workers/${id}`);
    return body.state === "live" && body.heartbeat_age_s < 3;
  });
  return child;
}
async function stop(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGTERM");
  await once(child, "exit");
}
let worker = null;

const TINY = { stream_add: "memory-bound", fma_chain: "compute-bound", pointer_walk: "latency-bound", smem_tile: null };

const cases = {
  async check() {
    const from = performance.now();
    const { status, stdout } = spawnSync(process.execPath, [flags.worker, "worker", "check"], {
      encoding: "utf8",
      env: { ...process.env, ...workerEnv("a") },
    });
    writeFileSync(join(OUT, "worker-check.txt"), stdout);
    const trial = stdout.split("\n").find((line) => line.includes("trial profile")) ?? "";
    row(
      "worker check",
      "ok, a trial launch with counters",
      trial.trim().replaceAll(/ +/g, " "),
      seconds(from),
      status === 0 && trial.startsWith("ok"),
    );
  },
  async tiny() {
    for (const [target, roofline] of Object.entries(TINY)) {
      const from = performance.now();
      const profile = await final((await submit(target, "tiny")).id);
      const seen = await facts(profile);
      const body = await result(profile.id);
      const binds = body.detail?.verdict?.occupancy?.limiters ?? body.detail?.occupancy?.limiters ?? [];
      const good =
        roofline === null
          ? profile.state === "succeeded" && JSON.stringify(body.detail ?? {}).includes("shared_mem")
          : body.roofline === roofline;
      row(
        `tiny: ${target}`,
        roofline ?? "occupancy limited by shared memory",
        `${seen}${binds.length ? `, limited by ${binds}` : ""}`,
        seconds(from),
        good,
      );
      await keep(profile.id, `tiny-${target}`);
    }
  },
  async moe() {
    const from = performance.now();
    const profile = await final((await submit("fused_moe_kernel", "kernels-moe")).id);
    row(
      "kernels.py: fused_moe_kernel",
      "memory-bound",
      await facts(profile),
      seconds(from),
      (await result(profile.id)).roofline === "memory-bound",
    );
    await keep(profile.id, "kernels-moe");
  },
  async bench() {
    const from = performance.now();
    const profile = await final((await submit("elementwise_kernel", "deepseek-v3-small-offline")).id);
    const body = await result(profile.id);
    const unseen = (body.findings ?? []).filter(
      ({ code }) => code === "cluster_not_measured" || code === "launches_not_repeated",
    ).length;
    row(
      "engine.py bench: elementwise_kernel",
      "each chosen cluster measured",
      `${await facts(profile)}, ${unseen} clusters missed`,
      seconds(from),
      profile.state === "succeeded" && unseen === 0,
    );
    await keep(profile.id, "engine-bench");
  },
  async serve() {
    for (const [name, target] of [
      ["first", "/nvjet/"],
      ["second, warm", "/nvjet/"],
      ["third, other kernel", "fused_moe|device_kernel"],
    ]) {
      const from = performance.now();
      const profile = await final(
        (await submit(target.includes("|") ? `/${target}/` : target, "deepseek-v3-small", { concurrency: 8 })).id,
      );
      const { capture } = (await result(profile.id)).provenance ?? {};
      const first = capture?.runs?.[0]?.first_launch_after_s;
      row(
        `engine.py serve: ${name}`,
        name === "first" ? "warmed up, attached to" : "same engine, in seconds",
        `${await facts(profile)}; engine ${capture?.engine_session}${capture?.engine_reused ? ", reused" : ""}; own time ${capture?.own_time_s?.toFixed(3)} s; ncu's first launch after ${first?.toFixed(2)} s`,
        seconds(from),
        profile.state === "succeeded" &&
          capture?.engine_session === "warm" &&
          capture?.engine_reused === (name !== "first"),
      );
      await keep(profile.id, `engine-serve-${name.split(/[ ,]/)[0]}`);
    }
  },
  async preempt() {
    const from = performance.now();
    const profile = await final((await submit("stream_add", "tiny")).id);
    const left = processes().filter((line) => line.includes("engine.py"));
    row(
      "another workload ends the idle engine",
      "succeeded, no engine left",
      `${await facts(profile)}, ${left.length} engine processes`,
      seconds(from),
      profile.state === "succeeded" && left.length === 0,
    );
  },
  async child() {
    const from = performance.now();
    const profile = await final((await submit("/nvjet/", "deepseek-v3-small-child")).id);
    const { capture } = (await result(profile.id)).provenance ?? {};
    row(
      "engine.py serve --child",
      "kernels of the child process",
      `${await facts(profile)}; engine ${capture?.engine_session}${capture?.engine_session_reason ? ` (${capture.engine_session_reason})` : ""}`,
      seconds(from),
      profile.state === "succeeded",
    );
    await keep(profile.id, "engine-child");
  },
  async pertool() {
    const from = performance.now();
    const profile = await final((await submit("/nvjet/", "deepseek-v3-small-per-tool")).id);
    const { capture } = (await result(profile.id)).provenance ?? {};
    row(
      "engine.py serve, a start for each tool",
      "succeeded, per_tool",
      `${await facts(profile)}; engine ${capture?.engine_session}`,
      seconds(from),
      profile.state === "succeeded" && capture?.engine_session === "per_tool",
    );
    await keep(profile.id, "engine-per-tool");
  },
  async fail() {
    const from = performance.now();
    const profile = await final((await submit("stream_add", "tiny-fail")).id);
    const codes = ((await result(profile.id)).findings ?? []).map(({ code }) => code);
    row(
      "tiny: program exits with 3",
      "verdict, finding application_failed",
      `${await facts(profile)}; findings ${codes}`,
      seconds(from),
      profile.state === "succeeded" && codes.includes("application_failed"),
    );
    await keep(profile.id, "tiny-fail");
  },
  async fault() {
    for (const [target, good] of [
      ["stream_add", "succeeded"],
      ["out_of_bounds", "failed"],
    ]) {
      const from = performance.now();
      const profile = await final((await submit(target, "tiny-fault")).id);
      row(`tiny: illegal access, target ${target}`, good, await facts(profile), seconds(from), profile.state === good);
      await keep(profile.id, `tiny-fault-${target}`);
    }
  },
  async collective() {
    const from = performance.now();
    const refused = await final((await submit("ncclDevKernel_AllReduce_Sum_f32_RING_LL", "tiny-collective")).id);
    row(
      "tiny: a collective as target",
      "replay_impossible, nothing started",
      await facts(refused),
      seconds(from),
      refused.failure?.code === "replay_impossible",
    );
    const again = performance.now();
    const profile = await final((await submit("/./", "tiny-collective")).id);
    row(
      "tiny: all kernels beside a collective",
      "succeeded, the collective left out",
      await facts(profile),
      seconds(again),
      profile.state === "succeeded",
    );
  },
  async nokernel() {
    const from = performance.now();
    const profile = await final((await submit("no_such_kernel", "tiny")).id);
    row(
      "no kernel matched",
      "no_matching_kernel, with those that ran",
      `${await facts(profile)}: ${JSON.stringify(profile.failure?.evidence ?? {}).slice(0, 160)}`,
      seconds(from),
      profile.failure?.code === "no_matching_kernel",
    );
    await keep(profile.id, "no-kernel");
  },
  async cancel() {
    const { id } = await submit("stream_add", "tiny-long");
    await until("a launch under ncu", async () => (await get(id)).progress?.done >= 1);
    const from = performance.now();
    await call("POST", `/profiles/${id}/cancel`);
    const gone = await until("no process", () => processes().length === 0, 30).then(() => seconds(from));
    // The driver takes a moment to take a killed program off its list.
    const free = await until("a free GPU", () => onGpu() === "", 30).then(
      () => seconds(from),
      () => Number.NaN,
    );
    row(
      "cancel in the middle",
      "no process and a free GPU within 5 s",
      `no process after ${gone.toFixed(2)} s, GPU free after ${free.toFixed(2)} s, ${(await get(id)).state}`,
      free,
      gone < 5 && free < 5,
    );
  },
  async kill() {
    const { id } = await submit("stream_add", "tiny-long", { max_duration_s: 60 });
    await until("a launch under ncu", async () => (await get(id)).progress?.done >= 1);
    const from = performance.now();
    worker.kill("SIGKILL");
    await once(worker, "exit");
    const gone = await until("no process", () => processes().length === 0, 30).then(() => seconds(from));
    worker = await startWorker("a");
    const profile = await final(id);
    row(
      "SIGKILL of the worker in the middle",
      "no process left, job taken up",
      `gone after ${gone.toFixed(2)} s; ${await facts(profile)}, attempt ${(await result(id)).provenance?.capture?.attempt}`,
      seconds(from),
      gone < 10 && FINAL.includes(profile.state) && profile.failure?.code !== "not_final",
    );
    await keep(id, "killed-worker");
  },
  async queue() {
    const second = await startWorker("b");
    const from = performance.now();
    const both = await Promise.all([submit("stream_add", "tiny"), submit("fma_chain", "tiny")]);
    let waited = false;
    const look = setInterval(async () => {
      const states = await Promise.all(both.map(async ({ id }) => (await get(id)).progress?.phase));
      waited ||= states.includes("lease");
    }, 100);
    const profiles = await Promise.all(both.map(({ id }) => final(id)));
    clearInterval(look);
    await stop(second);
    row(
      "two workers, two profiles, one GPU",
      "one waits for the lease, both succeed",
      `${profiles.map(({ state }) => state)}, ${waited ? "one waited" : "none waited"}`,
      seconds(from),
      waited && profiles.every(({ state }) => state === "succeeded"),
    );
  },
  async lease() {
    const { body: workers } = await call("GET", "/workers/a");
    const lease = await call("POST", "/leases?wait=20", {
      kind: "benchmark",
      gpus: [workers.gpus[0].uuid],
      holder: "a benchmark",
      ttl_s: 60,
    });
    const from = performance.now();
    const { id } = await submit("stream_add", "tiny");
    const blocked = await until(
      "the profile to wait",
      async () => (await get(id)).progress?.phase === "lease" && (await get(id)),
    );
    const none = processes().length === 0;
    await call("DELETE", `/leases/${lease.body.id}`);
    const profile = await final(id);
    row(
      "a benchmark lease is held",
      "waits in waiting_for_gpu, then runs",
      `${blocked.state}, ${none ? "nothing started" : "started"}; then ${profile.state}`,
      seconds(from),
      blocked.state === "waiting_for_gpu" && none && profile.state === "succeeded",
    );
  },
  async disk() {
    const folder = join(ROOT, "small");
    mkdirSync(folder);
    if (spawnSync("mount", ["-t", "tmpfs", "-o", "size=600m", "tmpfs", folder]).status !== 0)
      return row("a full disk", "disk_full", "no tmpfs could be mounted here", 0, false);
    await stop(worker);
    worker = await startWorker("full", folder);
    const from = performance.now();
    const { id } = await submit("/./", "tiny-long");
    await until("a launch under ncu", async () => (await get(id)).progress?.done >= 1);
    writeFileSync(join(folder, "filler"), Buffer.alloc(120 * 1024 * 1024));
    const profile = await final(id);
    row(
      "a full disk",
      "disk_full, or a verdict of what was complete",
      await facts(profile),
      seconds(from),
      profile.failure?.code === "disk_full" || (await result(id)).partial === true,
    );
    await keep(id, "disk-full");
    await stop(worker);
    spawnSync("umount", [folder]);
    worker = await startWorker("a");
  },
  /**
   * The survey of a profile and the same command by hand, in turns, in the same folder: what the service adds. Only the
   * survey runs to the end of the program on both sides; the counter run is ended as soon as it has its launches.
   */
  async overhead() {
    const from = performance.now();
    const [served, byHand, own] = [[], [], []];
    for (let round = 0; round < 3; round++) {
      const profile = await final((await submit("fused_moe_kernel", "kernels-moe", { force: true })).id);
      const { capture } = (await result(profile.id)).provenance;
      const survey = capture.runs.find(({ purpose, ended_by }) => purpose === "survey" && ended_by === "itself");
      served.push(survey.took_s);
      own.push(capture.own_time_s);
      const options = survey.argv.slice(1, survey.argv.lastIndexOf("python3")).map((word) => {
        const ending = [".ncu-rep", ".log"].find((end) => word.endsWith(end));
        return ending === undefined ? word : join(ROOT, `hand-${round}${ending}`);
      });
      const began = performance.now();
      spawnSync(survey.argv[0], [...options, "python3", "kernels.py", "moe", "--iters", "3"], {
        cwd: resolve(flags.workloads, ".."),
        env: { ...process.env, HOME: join(ROOT, "a", "capture", "home"), TMPDIR: join(ROOT, "a", "capture", "tmp") },
      });
      byHand.push(seconds(began));
    }
    const overhead = (middle(served) + middle(own)) / middle(byHand) - 1;
    row(
      "overhead over the same command by hand",
      "under 3 %",
      `survey of the service ${show(served)} s, by hand ${show(byHand)} s, own time ${middle(own).toFixed(3)} s; medians: ${(100 * overhead).toFixed(1)} %`,
      seconds(from),
      overhead < 0.03,
    );
  },
  /** The plain program and its full pipeline in turns; then the launches of the plan once more with every counter. */
  async pipeline() {
    const from = performance.now();
    const rounds = Number(flags.rounds);
    const [plain, whole, results] = [[], [], []];
    for (let round = 0; round < rounds; round++) {
      const began = performance.now();
      spawnSync(BENCH[0], BENCH.slice(1), { cwd: resolve(flags.workloads, "..") });
      plain.push(seconds(began));
      const submitted = performance.now();
      const profile = await final((await submit("full pipeline", "deepseek-v3-small-offline", { force: true })).id);
      whole.push(seconds(submitted));
      await keep(profile.id, `pipeline-${round}`);
      if (profile.state !== "succeeded") {
        row("engine.py bench: full pipeline", "succeeded", await facts(profile), seconds(from), false);
        return;
      }
      results.push(await result(profile.id));
      writeFileSync(join(OUT, `pipeline-${round}.result.json`), JSON.stringify(results.at(-1), null, 1));
    }
    const [last] = results.slice(-1);
    const { plan } = last;
    const ratio = middle(whole) / middle(plain);
    row(
      "engine.py bench: full pipeline",
      "at most 3 times the plain run",
      `plain ${show(plain)} s, pipeline ${show(whole)} s: ${ratio.toFixed(2)} times; ${last.launches} launches, ${last.kernels_total} kernels, ${plan.chosen.length} clusters measured with ${plan.launches} launches of ${plan.passes} passes; coverage ${percent(last.coverage)}; steps ${plan.steps.map(({ step, took_s }) => `${step} ${took_s.toFixed(1)}`).join(", ")}`,
      seconds(from),
      ratio <= 3,
    );
    measured.pipeline = { plan, last, whole: middle(whole) };
    // Kernels whose order the repeats agree on wherever their times differ by more than the repeats do.
    const times = results.map(
      ({ kernels }) => new Map(kernels.map(({ target, detail }) => [key(detail), { target, us: detail.exclusive_us }])),
    );
    const names = [...times[0].keys()].filter((name) => times.every((one) => one.has(name)));
    const spread = (name) => {
      const all = times.map((one) => one.get(name).us);
      return (Math.max(...all) - Math.min(...all)) / middle(all);
    };
    const widest = Math.max(...names.map(spread));
    const us = (at, name) => times[at].get(name).us;
    let wrong = 0;
    for (const a of names)
      for (const b of names) {
        const apart = times.map((_, at) => us(at, a) / us(at, b) - 1);
        if (Math.min(...apart.map(Math.abs)) > widest && new Set(apart.map(Math.sign)).size > 1) wrong++;
      }
    row(
      `${rounds} repeats of it`,
      "the same order where kernels differ by more than the repeats",
      `${names.length} of the top ${results[0].kernels.length} in all; spread of a kernel's time at most ${percent(widest)}, median ${percent(middle(names.map(spread)))}; ${wrong} pairs in another order`,
      0,
      names.length >= 9 && wrong === 0,
    );
  },
  /** After `pipeline`: the same launches with `--set full`, and what all launches would take so. */
  async full() {
    const { plan, last, whole } = measured.pipeline ?? {};
    if (plan === undefined) throw new Error("the case `pipeline` gives what this one compares with");
    const from = performance.now();
    const run = last.provenance.capture.runs.find(({ purpose }) => purpose === "counters");
    const id = run.argv[run.argv.indexOf("--kernel-id") + 1];
    const output = join(ROOT, "full.ncu-rep");
    const log = join(ROOT, "full.log");
    const child = start(
      "full",
      [
        "ncu",
        "--config-file",
        "off",
        "-f",
        "-o",
        output,
        "--log-file",
        log,
        "--set",
        "full",
        "--kernel-name-base",
        "mangled",
        "--kernel-id",
        id,
        "--profile-from-start",
        "off",
        "--cache-control",
        "all",
        "--clock-control",
        "none",
        "--apply-rules",
        "no",
        ...BENCH,
      ],
      {},
      resolve(flags.workloads, ".."),
    );
    let first = null;
    const look = setInterval(() => {
      try {
        if (first === null && readFileSync(log, "utf8").includes("Profiling")) first = seconds(from);
      } catch {}
    }, 20);
    await once(child, "exit");
    clearInterval(look);
    const took = seconds(from);
    const lines = readFileSync(log, "utf8").match(/Profiling "/g)?.length ?? 0;
    const perLaunch = (took - first) / lines;
    const naive = first + perLaunch * last.launches;
    row(
      "every launch with --set full, from a sample",
      "at least 100 times the pipeline",
      `${lines} launches ${(took - first).toFixed(1)} s, ${perLaunch.toFixed(2)} s each; ${last.launches} launches would take ${(naive / 3600).toFixed(2)} h: ${(naive / whole).toFixed(0)} times`,
      took,
      naive / whole >= 100,
    );
    const reports = await Promise.all(
      [await report(`pipeline-${Number(flags.rounds) - 1}`), readFileSync(output)].map(upload),
    );
    const [own, theirs] = await Promise.all(
      reports.map(async (id) => {
        const { body } = await call("POST", "/profiles", {
          target: "full pipeline",
          top_n: 100,
          source: { kind: "report", report_ids: [id] },
        });
        await final(body.id);
        return classes(await result(body.id));
      }),
    );
    const same = [...own].filter(([name, roofline]) => theirs.get(name) === roofline).length;
    const other = [...own].filter(([name, roofline]) => theirs.get(name) !== roofline);
    writeFileSync(join(OUT, "verdicts.json"), JSON.stringify({ own: [...own], theirs: [...theirs] }, null, 1));
    row(
      "verdicts of the declared counters and of --set full",
      "the same for each cluster",
      `${same} of ${own.size} shapes and clusters the same${other.length ? `; ${JSON.stringify(other.slice(0, 3))}` : ""}`,
      seconds(from),
      own.size > 0 && same === own.size && own.size === theirs.size,
    );
  },
  async servepipeline() {
    const from = performance.now();
    const profile = await final((await submit("full pipeline", "deepseek-v3-small", { concurrency: 32 })).id, 400);
    const body = await result(profile.id);
    await keep(profile.id, "pipeline-serve");
    writeFileSync(join(OUT, "pipeline-serve.result.json"), JSON.stringify(body, null, 1));
    const missed = (body.findings ?? []).map(({ code }) => code);
    row(
      "engine.py serve: full pipeline, concurrency 32",
      "join rate by time, mismatches named",
      profile.state === "succeeded"
        ? `${body.launches} launches, ${body.plan?.chosen.length} clusters measured; coverage ${percent(body.coverage)} of busy time, ${percent(joined(body))} of the top kernels' time joined; findings ${[...new Set(missed)]}; steps ${body.plan?.steps.map(({ step, took_s }) => `${step} ${took_s.toFixed(1)}`).join(", ")}`
        : await facts(profile),
      seconds(from),
      profile.state === "succeeded" && joined(body) > 0,
    );
  },
  async collectivepipeline() {
    const from = performance.now();
    const profile = await final((await submit("full pipeline", "tiny-collective")).id);
    const body = await result(profile.id);
    await keep(profile.id, "pipeline-collective");
    writeFileSync(join(OUT, "pipeline-collective.result.json"), JSON.stringify(body, null, 1));
    const entry = (body.kernels ?? []).find(({ target }) => target.includes("AllReduce"));
    row(
      "tiny: full pipeline with a collective",
      "time, stage comm, no verdict and why; never replayed",
      entry
        ? `${profile.state}: ${entry.detail.exclusive_us.toFixed(0)} us, ${entry.pipeline_stage}, roofline ${entry.roofline}: ${entry.detail.null_reasons?.roofline}`
        : await facts(profile),
      seconds(from),
      profile.state === "succeeded" && entry?.pipeline_stage === "comm" && entry.roofline === null,
    );
  },
  async hangpipeline() {
    const from = performance.now();
    const profile = await final((await submit("full pipeline", "tiny-handshake")).id);
    const body = await result(profile.id);
    await keep(profile.id, "pipeline-handshake");
    writeFileSync(join(OUT, "pipeline-handshake.result.json"), JSON.stringify(body, null, 1));
    const verdicts = (body.kernels ?? []).map(({ target, roofline }) => `${target} ${roofline}`);
    const codes = (body.findings ?? []).map(({ code }) => code);
    row(
      "tiny: full pipeline with a hang that no rule foresees",
      "ended and named, the rest has verdicts",
      profile.state === "succeeded" ? `${verdicts.join(", ")}; findings ${[...new Set(codes)]}` : await facts(profile),
      seconds(from),
      codes.includes("kernel_hung") && (body.kernels ?? []).filter(({ roofline }) => roofline !== null).length === 4,
    );
  },
};

let failed = 0;
try {
  for (const name of wanted.length > 0 ? wanted : Object.keys(cases)) {
    try {
      if (name !== "check") worker ??= await startWorker("a");
      await cases[name]();
    } catch (error) {
      row(name, "", `the case broke: ${error.message.slice(0, 300)}`, 0, false);
    }
  }
} finally {
  if (worker) await stop(worker);
  await until("no process of a workload", () => processes().length === 0, 20).catch((error) =>
    row("after all", "no process left", `${error.message}: ${processes()}`, 0, false),
  );
  for (const child of children) child.kill("SIGTERM");
  redis.kill("SIGTERM");
  failed = rows.filter(({ good }) => !good).length;
  const tools = spawnSync("ncu", ["--version"], { encoding: "utf8" }).stdout.match(/Version (\S+)/)?.[1];
  const gpu = spawnSync("nvidia-smi", ["--query-gpu=name,driver_version", "--format=csv,noheader"], {
    encoding: "utf8",
  }).stdout.trim();
  const table = [
    `${new Date().toISOString().slice(0, 10)}, ${gpu}, ncu ${tools}, Node ${process.version}`,
    "",
    "| case | expected | seen | s | |",
    "| --- | --- | --- | --- | --- |",
    ...rows.map(
      ({ name, expected, seen, took, good }) =>
        `| ${name} | ${expected} | ${seen.replaceAll("|", "\\|")} | ${took.toFixed(1)} | ${good ? "ok" : "**failed**"} |`,
    ),
  ].join("\n");
  writeFileSync(join(OUT, "table.md"), `${table}\n`);
  console.log(`\n${table}`);
}
process.exit(failed > 0 ? 1 : 0);

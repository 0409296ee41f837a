import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { watchLog } from "../../src/capture/process/log-patterns.ts";
import { ENGINE_DEFAULTS, notedPatternsOf, warmPatternsOf } from "../../src/capture/server/engine-defaults.ts";
import { serverWorkload } from "../helpers/stand-in-engine.ts";

const NEVER = new AbortController().signal;

describe("patterns in a log", () => {
  it("are found across chunks, at both kinds of line ends, and their first line is kept", () => {
    const log = watchLog(["warm.*done", "never"]);
    const write = log.input();
    for (const chunk of ["[rank 0] war", "m-up do", "ne in 3 s\r", "warm-up done again\nrest"]) write(chunk);
    expect(log.seen()).toEqual([
      { pattern: "warm.*done", line: "[rank 0] warm-up done in 3 s" },
      { pattern: "never", line: null },
    ]);
    expect(log.tail(2)).toEqual(["warm-up done again", "rest"]);
    expect(log.tail(0)).toEqual([]);
  });

  it("are looked for in each stream by itself, and in characters that chunks cut in two", () => {
    const log = watchLog(["ready über"]);
    const [out, error] = [log.input(), log.input()];
    const bytes = Buffer.from("ready über\n");
    out(bytes.subarray(0, 7));
    error("a warning\n");
    out(bytes.subarray(7));
    expect(log.seen()).toEqual([{ pattern: "ready über", line: "ready über" }]);
  });

  it("do not see the colours of terminals", () => {
    const log = watchLog(["INFO: +Application"]);
    log.input()("\u001b[32mINFO\u001b[0m:     Application startup complete.\n");
    expect(log.seen()[0]?.line).toBe("INFO:     Application startup complete.");
  });

  it("can be waited for", async () => {
    const log = watchLog(["one", "two"]);
    const write = log.input();
    const both = log.waitFor(NEVER);
    write("two\n");
    write("one\n");
    await both;
    await log.waitFor(NEVER);
    await watchLog([]).waitFor(NEVER);
  });

  it("are waited for no longer than the signal says", async () => {
    const log = watchLog(["one"]);
    const stop = new AbortController();
    const waited = log.waitFor(stop.signal);
    stop.abort(new Error("time"));
    await expect(waited).rejects.toThrow("time");
    await expect(log.waitFor(stop.signal)).rejects.toThrow("time");
  });

  it("keep bounded what a program prints without line ends and without end", () => {
    const log = watchLog(["end$"]);
    const write = log.input();
    for (let i = 0; i < 1000; i++) write("x".repeat(10_000));
    write("end\n");
    expect(log.tail(1)[0]).toHaveLength(4096);
    expect(log.seen()[0]?.line).toBeNull();
    for (let i = 0; i < 5000; i++) write(`line ${i}\n`);
    expect(log.tail(10_000)).toHaveLength(200);
    expect(log.tail(1)).toEqual(["line 4999"]);
  });

  it("do not depend on how the output is cut into chunks", () => {
    const text = fc.array(fc.constantFrom("warm", " done", "\n", "\r", "\r\n", "é", "x"), { maxLength: 40 });
    fc.assert(
      fc.property(text, fc.array(fc.nat(80), { maxLength: 8 }), (words, cuts) => {
        const bytes = Buffer.from(words.join(""));
        const whole = watchLog(["warm done", "^é"]);
        whole.input()(bytes);
        const cut = watchLog(["warm done", "^é"]);
        const write = cut.input();
        let from = 0;
        for (const to of [...cuts.sort((a, b) => a - b), bytes.length]) {
          if (to < from || to > bytes.length) continue;
          write(bytes.subarray(from, to));
          from = to;
        }
        expect(cut.seen()).toEqual(whole.seen());
        expect(cut.tail(100)).toEqual(whole.tail(100));
      }),
      { seed: 1 },
    );
  });

  it("run in linear time", () => {
    const log = watchLog(["(a+)+$", "(x*)*y"]);
    const began = performance.now();
    log.input()(`${"a".repeat(4000)}!\n${"x".repeat(4000)}\n`);
    expect(performance.now() - began).toBeLessThan(5000);
  });
});

describe("a mark in a log", () => {
  it("keeps lines of JIT and graph capture from there on", () => {
    const log = watchLog([]);
    const write = log.input();
    write("Capturing CUDA graph shapes: 100%\n");
    const mark = log.mark();
    write("GET /v1/completions 200\ncaptured 3 events\n");
    expect(mark.pollution()).toEqual({ total: 0, lines: [] });
    write("[TP0] Entering DeepGEMM JIT Single Kernel Compile session\rCapture cuda graph begin.\n");
    write("torch.compile takes 3 s in total\nDynamo bytecode transform time: 4.2 s\n");
    expect(mark.pollution()).toEqual({
      total: 4,
      lines: [
        "[TP0] Entering DeepGEMM JIT Single Kernel Compile session",
        "Capture cuda graph begin.",
        "torch.compile takes 3 s in total",
        "Dynamo bytecode transform time: 4.2 s",
      ],
    });
    mark.close();
    for (let i = 0; i < 100; i++) write("compiling\n");
    expect(mark.pollution().total).toBe(4);
  });

  it("keeps a bounded number of them and counts all", () => {
    const log = watchLog([]);
    const mark = log.mark();
    const write = log.input();
    for (let i = 0; i < 100; i++) write(`compiling ${i}\n`);
    expect(mark.pollution().total).toBe(100);
    expect(mark.pollution().lines).toHaveLength(20);
  });
});

describe("default patterns", () => {
  // Lines as the engines print them, with their prefixes (vLLM and SGLang, 2025 and 2026).
  const LINES = {
    vllm: [
      "(EngineCore_DP0 pid=212) INFO 10-06 12:00:40 [gpu_model_runner.py:3480] Graph capturing finished in 8 secs, took 0.31 GiB",
      "DeepGemm(m_grouped_fp8_gemm_nt_contiguous) warmup (W=torch.Size([256, 4096, 7168])) [all tokens]: 100%",
      "(EngineCore_DP0 pid=212) INFO 10-06 12:00:41 [core.py:210] init engine (profile, create kv cache, warmup model) took 107.64 s (compilation: 13.01 s)",
      "\u001b[0;36m(APIServer pid=1)\u001b[0;0m INFO:     Application startup complete.",
    ],
    sglang: [
      "[2026-05-15 08:40:30 TP0] Capture target decode CUDA graph end. elapsed=16.40 s, mem usage=1.00 GB",
      "[2026-05-15 08:40:31] INFO:     Application startup complete.",
      "[2026-05-15 08:40:32] The server is fired up and ready to roll!",
    ],
  };

  it.each(["vllm", "sglang"] as const)("find the lines of %s", (engine) => {
    const log = watchLog(ENGINE_DEFAULTS[engine].warmPatterns, ENGINE_DEFAULTS[engine].notedPatterns);
    log.input()(`${LINES[engine].join("\n")}\n`);
    expect(log.seen().filter(({ line }) => line === null)).toEqual([]);
    expect(log.noted().length).toBeGreaterThan(0);
  });

  it("take the line of uvicorn for ready with vLLM only", () => {
    const log = watchLog(ENGINE_DEFAULTS.sglang.warmPatterns);
    log.input()("INFO:     Application startup complete.\n");
    expect(log.seen()[0]?.line).toBeNull();
  });

  it("give way to those of the workload", () => {
    expect(warmPatternsOf(serverWorkload({ engine: "sglang" }))).toEqual(["The server is fired up and ready to roll!"]);
    expect(warmPatternsOf(serverWorkload({ warm_up: { log_patterns: ["x"] } }))).toEqual(["x"]);
    expect(warmPatternsOf(serverWorkload({ warm_up: { log_patterns: [] } }))).toEqual([]);
    expect(warmPatternsOf(serverWorkload({ engine: "none" }))).toEqual([]);
    expect(notedPatternsOf(serverWorkload({ engine: "none" }))).toEqual([]);
  });
});

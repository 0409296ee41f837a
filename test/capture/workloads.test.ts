import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { declareWorkloads, openFileHasher, workingFolder } from "../../src/capture/workloads/declared.ts";
import { fillIn, placeholdersOf } from "../../src/capture/workloads/placeholders.ts";
import { readWorkloads, workloadsProblemText } from "../../src/capture/workloads/workloads.ts";
import type { WorkloadsFile } from "../../src/model/workload.ts";

const GOOD = `version: 1
workloads:
  - name: tiny
    kind: benchmark
    model: tiny
    engine: none
    argv: [./tiny, "{seed}"]
    files: [tiny]
  - name: engine
    kind: server
    model: DeepSeek V3
    engine: vllm
    argv: [vllm, serve, "--hf-overrides", '{"num_hidden_layers": 4}', --port, "{port}"]
    port: 8000
`;

function read(text: string): WorkloadsFile {
  const result = readWorkloads(text, "workloads.yaml");
  if (!result.ok) throw new Error(result.error.map(workloadsProblemText).join("\n"));
  return result.value;
}

function problemsOf(text: string): string[] {
  const result = readWorkloads(text, "w.yaml");
  return result.ok ? [] : result.error.map(workloadsProblemText);
}

describe("workloads.yaml", () => {
  it("is read with its defaults", () => {
    const [tiny, engine] = read(GOOD).workloads;
    expect(tiny).toMatchObject({ kind: "benchmark", gpus: 1, window: "from_start", warm_up: { skip_launches: 0 } });
    expect(engine).toMatchObject({
      kind: "server",
      health: { path: "/health" },
      warm_up: { requests: 12 },
      load: { batch: "prompts", vocabulary: 32000 },
    });
  });

  it("names line, path, what was expected and what was given, for all problems at once", () => {
    const wrong = GOOD.replace("kind: benchmark", "kind: bench")
      .replace("engine: vllm", "engine: tgi")
      .replace("port: 8000", "port: 80000\n    speed: 3\n    env: {TOKEN: 123456}\n    warm_up: {requests: 10}");
    expect(problemsOf(wrong)).toEqual([
      'w.yaml:4: workloads[0].kind: expected one of benchmark, server; given: "bench"',
      'w.yaml:12: workloads[1].engine: expected one of vllm, sglang, none; given: "tgi"',
      "w.yaml:14: workloads[1].port: expected at most 65535; given: 80000",
      'w.yaml:15: workloads[1].speed: expected only fields of docs/workloads.md; given: the field "speed"',
      // The value of a variable may be a secret.
      "w.yaml:16: workloads[1].env.TOKEN: expected a string; given: a number",
      "w.yaml:17: workloads[1].warm_up.requests: expected at least 11; given: 10",
    ]);
  });

  it("names what is missing at its nearest parent", () => {
    expect(problemsOf("version: 1\nworkloads:\n  - kind: server\n    name: a\n")).toContain(
      "w.yaml:3: workloads[0].argv: expected a list; given: nothing",
    );
    expect(problemsOf("")).toEqual(["w.yaml: expected a map; given: nothing"]);
    expect(problemsOf("version: 2\n")).toEqual(["w.yaml:1: version: expected 1; given: 2"]);
  });

  it("refuses placeholders that do not exist, and {port} where nothing listens", () => {
    const [port, unknown] = problemsOf(GOOD.replace("{seed}", "{sead}").replace("./tiny", '"{port}"'));
    expect(port).toMatch(/^w\.yaml:7: workloads\[0\]\.argv\[0\]: expected no \{port\}/);
    expect(unknown).toMatch(/^w\.yaml:7: workloads\[0\]\.argv\[1\]: expected one of \{port\}.*given: \{sead\}$/);
    expect(problemsOf(`${GOOD}    counter_args: ["--dir={folder}"]\n    env: {CACHE: "{home}/c"}\n`)).toEqual([
      expect.stringContaining("w.yaml:15: workloads[1].counter_args[0]: expected one of {port}"),
    ]);
    expect(problemsOf(GOOD.replace("{seed}", "{{sead}}"))).toEqual([]);
    expect(problemsOf(GOOD.replace('"{seed}"', "{seed}"))).toEqual([
      'w.yaml:7: workloads[0].argv[1]: expected a string; given: a map; quote it: "{seed}"',
    ]);
  });

  it("refuses a name, and a key, that occurs twice", () => {
    expect(problemsOf(GOOD.replace("name: engine", "name: tiny"))).toEqual([
      'w.yaml:9: workloads[1].name: expected a name that no other workload has; given: "tiny", the name of workloads[0]',
    ]);
    expect(problemsOf(`${GOOD}    port: 8001\n`)).toEqual([
      "w.yaml:15: port: expected each key once; given: the key a second time",
    ]);
  });

  it("refuses patterns that do not compile, and ones that no linear engine runs", () => {
    for (const pattern of ["warm(", "(?=warm)", "(a)\\1"]) {
      expect(problemsOf(`${GOOD}    warm_up: {log_patterns: ['${pattern}']}\n`)).toEqual([
        expect.stringContaining("w.yaml:15: workloads[1].warm_up.log_patterns[0]: expected a regular expression"),
      ]);
    }
  });

  it("refuses fields of the load that would make its counts wrong", () => {
    expect(problemsOf(`${GOOD}    load: {body: {n: 4, top_p: 0.5}}\n`)).toEqual([
      expect.stringMatching(/^w\.yaml:15: workloads\[1\]\.load\.body\.n: expected fields that the load does not set/),
    ]);
  });

  it("keeps out what no process can be given", () => {
    expect(problemsOf(GOOD.replace("./tiny", '"a\\0b"'))).toEqual([expect.stringContaining("U+0000")]);
    expect(problemsOf(`${GOOD}    env: {"A B": x}\n    pass_env: [1A]\n`)).toHaveLength(2);
  });

  it("says where it is no YAML", () => {
    expect(problemsOf("version: 1\nworkloads:\n  - a: b\n c: d\n")).toEqual([
      expect.stringMatching(/^w\.yaml:4: expected YAML; given: /),
    ]);
    expect(problemsOf("version: 1\n---\nversion: 1\n")[0]).toContain("multiple documents");
  });

  it("is bounded in size, depth and aliases", () => {
    const bomb = Array.from({ length: 30 }, (_, i) => `a${i}: &a${i} [${i ? `*a${i - 1},*a${i - 1}` : "x"}]`).join(
      "\n",
    );
    expect(problemsOf(bomb)).toEqual([expect.stringContaining("Excessive alias count")]);
    expect(problemsOf(`a: ${"x".repeat(1024 * 1024)}`)).toEqual([
      "w.yaml: expected at most 1048576 bytes; given: 1048579 bytes",
    ]);
    for (const deep of ["[".repeat(100_000), "- ".repeat(100_000), "? ".repeat(100_000), "{a: ".repeat(100_000)])
      expect(problemsOf(deep)).toEqual(["w.yaml:1: expected at most 64 levels; given: deeper nesting"]);
    const stairs = Array.from({ length: 1000 }, (_, i) => `${" ".repeat(i)}a:`).join("\n");
    expect(problemsOf(stairs)).toEqual([expect.stringMatching(/^w\.yaml:\d+: expected at most 64 levels/)]);
    expect(problemsOf("a: *unknown\n")).toEqual([expect.stringContaining("Unresolved alias")]);
    expect(problemsOf("a: &a [*a]\n")[0]).toMatch(/^w\.yaml/);
  });

  it("shares what is written once", () => {
    const { workloads } = read(`${GOOD}  - name: again
    <<: &rest {kind: benchmark, model: m, engine: none, argv: [x]}
  - name: third
    <<: *rest
`);
    expect(workloads.map(({ name }) => name)).toEqual(["tiny", "engine", "again", "third"]);
    expect(workloads[3]).toMatchObject({ argv: ["x"] });
  });
});

describe("placeholders", () => {
  it("are filled in within one argument, and other braces are text", () => {
    const values = { port: 8000, model: "a b;$(c)", output_dir: "/tmp/{seed}" };
    expect(fillIn(["--port={port}", "{model}", "{output_dir}", '{"a": {"b": 1}}', "{{port}}", "{}"], values)).toEqual([
      "--port=8000",
      "a b;$(c)",
      "/tmp/{seed}",
      '{"a": {"b": 1}}',
      "{port}",
      "{}",
    ]);
    expect(() => fillIn(["{rank}"], values)).toThrow("no value for the placeholder {rank}");
    expect([...placeholdersOf(["{port} {model}", "{{rank}}", "{port}"])]).toEqual(["port", "model"]);
  });
});

describe("declared workloads", () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "workloads-"));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const declare = async (text: string) => {
    const declared = await declareWorkloads(read(text), folder);
    if (!declared.ok) throw new Error(JSON.stringify(declared.error));
    return declared.value;
  };

  it("tell what they are and no command line", async () => {
    await writeFile(join(folder, "tiny"), "x");
    const [tiny, engine] = await declare(GOOD);
    expect(tiny).toEqual({
      name: "tiny",
      kind: "benchmark",
      description: null,
      model: "tiny",
      aliases: [],
      engine: "none",
      gpus: 1,
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect(engine?.sha256).not.toBe(tiny?.sha256);
  });

  it("have a hash that follows the declaration and the bytes of the files, and not the way it is written", async () => {
    await writeFile(join(folder, "tiny"), "x");
    const hashOf = async (text: string) => (await declare(text))[0]?.sha256;
    const before = await hashOf(GOOD);
    expect(
      await hashOf(GOOD.replace("    model: tiny\n    engine: none\n", "    engine: none\n    model: 'tiny'\n")),
    ).toBe(before);
    expect(await hashOf(GOOD.replace("{seed}", "7"))).not.toBe(before);
    await writeFile(join(folder, "tiny"), "y");
    expect(await hashOf(GOOD)).not.toBe(before);
  });

  it("name each file that is missing or is none", async () => {
    await mkdir(join(folder, "models"));
    const declared = await declareWorkloads(read(GOOD.replace("[tiny]", "[tiny, models]")), folder);
    expect(declared).toEqual({
      ok: false,
      error: [
        { workload: "tiny", file: "tiny", message: `${join(folder, "tiny")} does not exist` },
        { workload: "tiny", file: "models", message: `${join(folder, "models")} is a folder; name the files in it` },
      ],
    });
  });

  it("hash a file anew only after it changed", async () => {
    const hashFile = openFileHasher();
    const path = join(folder, "weights");
    await writeFile(path, "one");
    const first = await hashFile(path);
    expect(await hashFile(path)).toEqual(first);
    await writeFile(path, "two");
    expect(await hashFile(path)).not.toEqual(first);
  });

  it("run beside workloads.yaml unless they say otherwise", () => {
    const [tiny] = read(GOOD).workloads;
    expect(workingFolder(tiny!, "/opt/w")).toBe("/opt/w");
    expect(workingFolder({ ...tiny!, cwd: "build" }, "/opt/w")).toBe("/opt/w/build");
    expect(workingFolder({ ...tiny!, cwd: "/srv" }, "/opt/w")).toBe("/srv");
  });
});

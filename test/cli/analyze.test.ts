import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { launchResults } from "../../src/analysis/index.ts";
import { rooflineSvg } from "../../src/charts/roofline.ts";
import { textWidth } from "../../src/charts/visible-text.ts";
import { analysisInput, resultOf } from "../helpers/analysis.ts";
import { CLI, cli, startCli } from "../helpers/cli.ts";
import { fixture, fixturePath, H200 } from "../helpers/fixtures.ts";
import { elements, parseXml } from "../helpers/xml.ts";

const FULL = fixturePath(`${H200}h200-full.ncu-rep.gz`);
const TINY = fixturePath(`${H200}tiny-full.ncu-rep.gz`);
const TINY_CSV = fixturePath(`${H200}tiny-full.raw-base-units.csv.gz`);

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "cli-test-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const keep = (name: string, content: string | Uint8Array): string => {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
};

/** Programs that every Linux and macOS brings along. */
const run = (program: string, args: string[], env?: NodeJS.ProcessEnv): string =>
  execFileSync(program, args, { env, stdio: ["ignore", "pipe", "pipe"] }).toString();

describe("analyze", () => {
  it("prints the ranked table, where to look next and the findings", async () => {
    const { code, stdout, stderr } = await cli(["analyze", FULL]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^NVIDIA H200 · CC 9\.0 · 132 SMs/);
    expect(stdout).toMatch(/^ 1 {2}sm80_xmma_gem… {2}compute {2}issue +2\.70 ms 32\.7% {2}3% 86% +51\.0 12% {2}low$/m);
    expect(stdout).toMatch(/^ 9 {2}mla_decode_st… {2}latency {2}tail +193 us +2\.3% 59% 19% +88\.9 16% {2}high$/m);
    expect(stdout).toMatch(/^10 {2}gatherTopK<fl….* –¹ 90% {2}medium$/m);
    expect(stdout).toContain("¹ no floating-point work beside moves");
    expect(stdout).toContain("- The last wave leaves SMs idle");
    expect(stdout).toContain("info barrier_of_parked_warps (kernel 4, 5)");
  });

  it("prints everything about one kernel", async () => {
    const { code, stdout } = await cli(["analyze", FULL, "--target", "fused_moe_kernel"]);
    expect(code).toBe(0);
    expect(stdout).toContain("\nfused_moe_kernel\nMemory-bound by DRAM: DRAM 88% of the peak, compute 29%.\n");
    expect(stdout).toMatch(/L2 +6\.14 TB\/s +10\.3 TB\/s +96% +26% +45\.3/);
    expect(stdout).toContain("limited by      shared memory");
    expect(stdout).toContain("sm__warps_active.avg.pct_of_peak_sustained_active");
  });

  it("finds the same kernels by /regex/ and names the others", async () => {
    const { stdout } = await cli(["analyze", FULL, "-t", "/nvjet/"], { env: { COLUMNS: "120" } });
    expect(stdout).toContain("\nnvjet_sm90_tst_320x128_64x3_1x2_h_bz_coopB_NNT\nCompute-bound by the tensor cores");
    expect(stdout).toContain(
      "- nvjet_sm90_qqtst_144x128_128x6_1x2_h_bz_coopA_algo2_TNN: compute-bound, 1 launch, 733 us",
    );
  });

  it("lists as many kernels as --top says", async () => {
    const { stdout } = await cli(["analyze", FULL, "--top", "2", "--json"]);
    expect(JSON.parse(stdout).kernels.length).toBe(2);
  });
});

describe("analyze --json", () => {
  it.each([
    [["h200-full.ncu-rep.gz"], undefined],
    [["h200-full.ncu-rep.gz"], "fused_moe_kernel"],
    [["tiny-full.ncu-rep.gz", "tiny-verdict.ncu-rep.gz"], undefined],
  ])("is the result of the analysis: %j, target %s", async (names, target) => {
    const paths = names.map((name) => fixturePath(`${H200}${name}`));
    const expected = resultOf(await Promise.all(paths.map(analysisInput)), target);
    const { code, stdout, stderr } = await cli([
      "analyze",
      ...paths,
      "--json",
      ...(target ? ["--target", target] : []),
    ]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(JSON.parse(stdout)).toEqual(JSON.parse(JSON.stringify(expected)));
  });

  it("gives the same bytes again", async () => {
    const [a, b] = await Promise.all([cli(["analyze", TINY, "--json"]), cli(["analyze", TINY, "--json"])]);
    expect(a.stdout).toBe(b.stdout);
    expect(a.stdout.length).toBeGreaterThan(10_000);
  });
});

describe("analyze --launches", () => {
  it("prints one line a launch, in file order, over all files", async () => {
    const { code, stdout } = await cli(["analyze", TINY, FULL, "--launches"]);
    expect(code).toBe(0);
    const lines = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines.map((line) => line.detail.launch.index)).toEqual([...Array(12).keys(), ...Array(19).keys()]);
    const expected = [...launchResults(await analysisInput(TINY)), ...launchResults(await analysisInput(FULL))];
    expect(lines).toEqual(JSON.parse(JSON.stringify(expected)));
  });
});

describe("analyze --svg", () => {
  it("writes the chart of the result beside the table", async () => {
    const path = join(folder, "roofline.svg");
    const { code, stdout } = await cli(["analyze", FULL, "--svg", path]);
    expect(code).toBe(0);
    expect(stdout).toContain("Where to look next");
    expect(readFileSync(path, "utf8")).toBe(rooflineSvg(resultOf([await analysisInput(FULL)])));
  });

  it("writes the pictures of a timeline", async () => {
    const [stages, timeline] = [join(folder, "stages.svg"), join(folder, "timeline.svg")];
    const recording = fixturePath("timelines/tiny-graph-nodes.nsys.sqlite.gz");
    const { code } = await cli(["analyze", recording, "--stages-svg", stages, "--timeline-svg", timeline]);
    expect(code).toBe(0);
    expect(readFileSync(stages, "utf8")).toContain("Busy time by stage");
    expect(readFileSync(timeline, "utf8")).toContain("Timeline of the GPU");
  });

  it("writes the trace of a timeline, packed where the name says so", async () => {
    const recording = fixturePath("timelines/tiny-graph-nodes.nsys.sqlite.gz");
    const [plain, packed] = [join(folder, "trace.json"), join(folder, "trace.json.gz")];
    for (const path of [plain, packed]) {
      expect((await cli(["analyze", recording, "--trace", path])).code).toBe(0);
    }
    expect(gunzipSync(readFileSync(packed)).equals(readFileSync(plain))).toBe(true);
    expect(JSON.parse(readFileSync(plain, "utf8")).traceEvents.length).toBeGreaterThan(10);
    expect((await cli(["analyze", recording, "--trace", join(folder, "no", "such.json")])).code).toBe(2);
    const { code, stderr } = await cli(["analyze", TINY, "--trace", plain]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("none was given")]);
  });

  it("says what is wrong with a path that cannot be written", async () => {
    const { code, stderr } = await cli(["analyze", TINY, "--svg", join(folder, "no", "such.svg")]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/cannot write .*such\.svg/);
  });
});

describe("standard input and pipes", () => {
  it("reads a report from -", async () => {
    const [piped, file] = await Promise.all([
      cli(["analyze", "-", "--json"], { input: readFileSync(TINY) }),
      cli(["analyze", TINY, "--json"]),
    ]);
    expect(piped).toEqual(file);
  });

  it("reads a report from a named pipe", async () => {
    const pipe = join(folder, "pipe");
    run("mkfifo", [pipe]);
    const [piped, file] = await Promise.all([
      cli(["analyze", pipe, "--json"]),
      cli(["analyze", TINY, "--json"]),
      writeFile(pipe, readFileSync(TINY)),
    ]);
    expect(piped).toEqual(file);
  });

  it("reads a CSV page and leaves nothing behind", async () => {
    const temporary = mkdtempSync(join(folder, "tmp-"));
    const { code, stdout } = await cli(["analyze", "-"], {
      input: fixture(`${H200}tiny-full.raw-base-units.csv.gz`),
      env: { TMPDIR: temporary },
    });
    expect(code).toBe(0);
    expect(stdout).toContain("pointer_walk");
    expect(readdirSync(temporary)).toEqual([]);
  });

  it("says why something cannot be opened", async () => {
    const socket = join(folder, "socket");
    const server = createServer().listen(socket);
    await once(server, "listening");
    const { code, stderr } = await cli(["analyze", socket]);
    server.close();
    expect(code).toBe(3);
    expect(stderr).toMatch(/^profile-kernel: \S+socket cannot be read \(E\w+\)\n/);
  });

  it("says nothing when its reader has read enough", async () => {
    const child = startCli(["analyze", FULL, "--launches"]);
    child.stdout?.once("data", () => child.stdout?.destroy());
    let stderr = "";
    child.stderr?.on("data", (chunk) => {
      stderr += chunk;
    });
    const [code] = await once(child, "close");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  });
});

describe("exit codes", () => {
  it.each([
    [[], 2, /Usage: profile-kernel/],
    [["analyze"], 2, /missing required argument 'file'/],
    [["analyze", "x", "--no-such-flag"], 2, /unknown option '--no-such-flag'/],
    [["no-such-command"], 2, /unknown command/],
    [["analyze", TINY, "--top", "0"], 2, /whole number from 1 to 1000/],
    [["analyze", TINY, "--top", "ten"], 2, /whole number from 1 to 1000/],
    [["analyze", TINY, "--svg", "-"], 2, /Expected the name of a file/],
    [["analyze", TINY, "--launches", "--target", "x"], 2, /cannot be used with/],
    [["analyze", TINY, "--launches", "--top", "3"], 2, /cannot be used with/],
    [["analyze", TINY, "--launches", "--json"], 2, /cannot be used with/],
    [["analyze", "-", "-"], 2, /more than once/],
    [["analyze", TINY, TINY], 2, /tiny-full\.ncu-rep\.gz was given twice\n {2}Name each report once/],
    [["analyze", TINY, TINY.replace("/ncu/", "/./ncu/")], 2, /is the same file as .*tiny-full/],
    [["analyze", "/dev/zero"], 3, /^profile-kernel: \/dev\/zero: this is nothing but zero bytes/],
    [["analyze", TINY, "--target", "/(/"], 2, /cannot be used/],
    [["analyze", "no/such/file.ncu-rep"], 3, /no\/such\/file\.ncu-rep does not exist\n {2}Check the path/],
    [["analyze", TINY, tmpdir()], 3, /is a folder; expected a report/],
    [["analyze", fixturePath(`${H200}h200-full.session.csv`)], 3, /session page/],
    [
      ["analyze", TINY, "--target", "no_such_kernel"],
      4,
      /no kernel.*"no_such_kernel"\n {2}The kernels are: .*pointer_walk/,
    ],
  ])("%j ends with %d", async (args, expected, message) => {
    const { code, stdout, stderr } = await cli(args);
    expect({ code, stdout }).toEqual({ code: expected, stdout: "" });
    expect(stderr).toMatch(message);
  });

  it.each([["--version"], ["--help"], ["analyze", "--help"]])("%s %s ends with 0", async (...args) => {
    const { code, stdout, stderr } = await cli(args);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$|Exit codes:/);
  });

  it.each(["--json", "--launches"])("gives the error as one line of JSON with %s", async (flag) => {
    for (const [args, expected, code] of [
      [["analyze", "no/such/file.ncu-rep", flag], "file_not_found", 3],
      [["analyze", TINY, flag, "--no-such-flag"], "usage", 2],
    ] as const) {
      const run = await cli(args);
      expect(run).toMatchObject({ code, stdout: "" });
      const { error } = JSON.parse(run.stderr);
      expect(error).toEqual({
        code: expected,
        message: expect.any(String),
        hint: expect.any(String),
        evidence: expect.any(Object),
      });
    }
  });
});

describe("one report under two names", () => {
  it("is a finding in the table and the JSON, and a warning beside lines of launches", async () => {
    const copy = keep("copy.ncu-rep.gz", readFileSync(TINY));
    const [table, json, lines] = await Promise.all([
      cli(["analyze", TINY, copy]),
      cli(["analyze", TINY, copy, "--json"]),
      cli(["analyze", TINY, copy, "--launches"]),
    ]);
    expect(table.stdout).toContain("warning report_repeated");
    expect(JSON.parse(json.stdout).findings).toContainEqual({
      code: "report_repeated",
      severity: "warning",
      message: `${copy} holds the same bytes as ${TINY}: every launch in it is counted twice`,
      launch: null,
      evidence: { file: copy, same_as: TINY },
    });
    expect([table, json, lines].map(({ code }) => code)).toEqual([0, 0, 0]);
    expect([table, json].map(({ stderr }) => stderr)).toEqual(["", ""]);
    expect(lines.stderr).toMatch(/^profile-kernel: warning: .*copy\.ncu-rep\.gz holds the same bytes as .*\n$/);
  });

  it("is none where one byte in the middle differs", async () => {
    const whole = fixture(`${H200}tiny-full.ncu-rep.gz`);
    const other = Buffer.from(whole);
    const at = other.indexOf("pointer_walk", other.length / 2);
    other[at] = "q".charCodeAt(0);
    const { stdout, code } = await cli(["analyze", keep("a.ncu-rep", whole), keep("b.ncu-rep", other)]);
    expect({ code, at: at > 0 }).toEqual({ code: 0, at: true });
    expect(stdout).not.toContain("report_repeated");
  });
});

describe("a report that ends early", () => {
  const torn = (): string => {
    const whole = fixture(`${H200}tiny-full.ncu-rep.gz`);
    return keep("torn.ncu-rep", whole.subarray(0, Math.floor(whole.length * 0.6)));
  };

  it("is said first, and its complete launches are judged", async () => {
    const { code, stdout, stderr } = await cli(["analyze", torn()]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout.replace(/\n/g, " ")).toMatch(
      /^PARTIAL: .*torn\.ncu-rep ends early at byte [\d,]+\. \d+ complete launch/,
    );
    const { partial, provenance } = JSON.parse((await cli(["analyze", torn(), "--json"])).stdout);
    expect(partial).toBe(true);
    expect(provenance.reports[0]).toMatchObject({ partial: true, partial_at_byte: expect.any(Number) });
  });

  it("is an error of its own with --strict, after the output", async () => {
    const strict = await cli(["analyze", torn(), "--strict"]);
    expect(strict.code).toBe(5);
    expect(strict.stdout).toBe((await cli(["analyze", torn()])).stdout);
    expect(strict.stderr).toContain("torn.ncu-rep ends early");
    expect((await cli(["analyze", TINY, "--strict"])).code).toBe(0);
  });
});

describe("hostile names", () => {
  const hostile = "evil\u001b[2J\u001b]0;owned\u0007\u009b31m\u202e<script>alert`1`</script>&";
  const report = (): string =>
    keep(
      "hostile.csv",
      fixture(`${H200}tiny-full.raw-base-units.csv.gz`).toString().replaceAll("pointer_walk", hostile),
    );

  it("are shown and not obeyed", async () => {
    const file = report();
    const runs = await Promise.all([
      cli(["analyze", file]),
      cli(["analyze", file, "--full-names"]),
      cli(["analyze", file, "--target", "/evil/"]),
      cli(["analyze", file, "--target", `\u001b[31mno such`]),
    ]);
    expect(runs.map(({ code }) => code)).toEqual([0, 0, 0, 4]);
    for (const { stdout } of runs.slice(0, 3)) expect(stdout).toContain("evil\\u{1b}[2J");
    for (const { stdout, stderr } of runs) {
      expect((stdout + stderr).replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    }
  });

  it("stay what they are in JSON, written so that a terminal does not obey them", async () => {
    const { stdout } = await cli(["analyze", report(), "--json", "--target", "/evil/"]);
    expect(stdout.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(JSON.parse(stdout).detail.names.display).toContain(hostile);
  });

  it("are text in the chart", async () => {
    const path = join(folder, "hostile.svg");
    expect((await cli(["analyze", report(), "--svg", path])).code).toBe(0);
    const root = parseXml(readFileSync(path, "utf8"));
    expect([...elements(root)].some(({ name }) => name === "script")).toBe(false);
    expect([...elements(root)].some(({ text }) => text.includes("evil\\u{1b}[2J"))).toBe(true);
  });
});

describe("the terminal", () => {
  it.each(readdirSync(fixturePath(H200)).filter((name) => /\.(ncu-rep|csv)\.gz$/.test(name)))(
    "%s fits into 80 columns and holds no colour codes in a pipe",
    async (name) => {
      const { code, stdout } = await cli(["analyze", fixturePath(`${H200}${name}`)], { env: { COLUMNS: "80" } });
      expect(code).toBe(0);
      expect(stdout).not.toContain("\u001b");
      for (const line of stdout.split("\n")) expect(textWidth(line), line).toBeLessThanOrEqual(80);
    },
  );

  it("shows colours on a terminal, and none with NO_COLOR", async () => {
    const command = [process.execPath, CLI, "analyze", TINY_CSV];
    const onTerminal = (env: Record<string, string>): string => {
      // `script` runs a command on a terminal of its own; its flags differ between Linux and the BSDs.
      const args =
        process.platform === "linux"
          ? ["-qec", command.map((word) => `'${word}'`).join(" "), "/dev/null"]
          : ["-q", "/dev/null", ...command];
      const { NO_COLOR: _, ...rest } = process.env;
      return run("script", args, { ...rest, TERM: "xterm", ...env });
    };
    const coloured = onTerminal({});
    expect(coloured).toContain("\u001b[34mmemory\u001b[39m");
    const plain = onTerminal({ NO_COLOR: "1" });
    expect(plain).not.toContain("\u001b");
    expect(stripVTControlCharacters(coloured)).toBe(plain);
  });

  it("takes the width that COLUMNS says", async () => {
    const { stdout } = await cli(["analyze", TINY_CSV], { env: { COLUMNS: "120" } });
    const widest = Math.max(...stdout.split("\n").map(textWidth));
    expect(widest).toBeGreaterThan(80);
    expect(widest).toBeLessThanOrEqual(120);
  });
});

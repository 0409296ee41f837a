import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { processStartTime } from "../../src/base/process-identity.ts";
import { readTools } from "../../src/capture/host/tools.ts";
import {
  type NsysPlan,
  nsysExportArguments,
  nsysProfileArguments,
  recordingPath,
  shownExport,
  shownProfile,
} from "../../src/capture/nsys/arguments.ts";
import { nsysFailure } from "../../src/capture/nsys/outcome.ts";
import { type NsysRunOptions, runNsysExport, runNsysProfile } from "../../src/capture/nsys/run.ts";
import { readTimelineFixture } from "../helpers/timeline-fixtures.ts";

const NSYS = fileURLToPath(new URL("../stand-in/nsys.mjs", import.meta.url));

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "pk-nsys-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const plan = (more: Partial<NsysPlan> = {}): NsysPlan => ({
  window: "from_start",
  output: join(folder, "timeline"),
  program: [process.execPath, "-e", "console.log('warm')"],
  ...more,
});

type Given = Partial<Omit<NsysRunOptions, "limits">> & { readonly limits?: Partial<NsysRunOptions["limits"]> };

const options = ({ limits = {}, env = {}, ...more }: Given = {}): NsysRunOptions => ({
  nsys: NSYS,
  cwd: folder,
  env: { PATH: process.env.PATH ?? "", TMPDIR: folder, STAND_IN_TIMELINES: "tiny-collective.nsys.sqlite.gz", ...env },
  outputPath: join(folder, "output.txt"),
  recordFolder: join(folder, "groups"),
  stop: new AbortController().signal,
  ...more,
  limits: {
    totalMs: 30_000,
    outputBytes: 100_000,
    reportBytes: 1_000_000_000,
    diskFloorBytes: 0,
    graceMs: 5_000,
    shortGraceMs: 1_000,
    ...limits,
  },
});

const STAYS = [process.execPath, "-e", "console.log('pid ' + process.pid); setInterval(() => {}, 1000)"];
const none = async (): Promise<void> => {
  for (const [, pid] of readFileSync(join(folder, "output.txt"), "utf8").matchAll(/pid (\d+)/g))
    expect(await processStartTime(Number(pid))).toBeNull();
  expect(readdirSync(join(folder, "groups"))).toEqual([]);
};

describe("arguments of nsys", () => {
  it("record kernels, copies and ranges, nodes of graphs each, and no samples of the host", () => {
    expect(nsysProfileArguments(plan({ output: "/tmp/t", program: ["./engine", "--port", "1"] })).join(" ")).toBe(
      "profile -t cuda,nvtx -s none --cpuctxsw=none --cuda-graph-trace=node --trace-fork-before-exec=true --stats=false --force-overwrite=true -o /tmp/t ./engine --port 1",
    );
  });

  it("wait for the window of the program, and end the program with it", () => {
    const args = nsysProfileArguments(plan({ window: "cuda_profiler_api" }));
    expect(args).toContain("--capture-range=cudaProfilerApi");
    expect(args).toContain("--capture-range-end=stop-shutdown");
  });

  it("take no program that reads as an option", () => {
    for (const program of [[], [""], ["--env-var=A=B", "x"]]) {
      expect(() => nsysProfileArguments(plan({ program }))).toThrow(RangeError);
    }
  });

  it("export SQLite", () => {
    expect(nsysExportArguments("/a/t.nsys-rep", "/a/t.sqlite").join(" ")).toBe(
      "export --type sqlite --force-overwrite=true --output /a/t.sqlite /a/t.nsys-rep",
    );
    expect(recordingPath({ output: "/a/t" })).toBe("/a/t.nsys-rep");
    expect(recordingPath({ output: "/a/t.nsys-rep" })).toBe("/a/t.nsys-rep");
  });

  it("are shown without folders and without what the program was given", () => {
    const shown = shownProfile(
      "/opt/nsys",
      plan({ output: "/secret/t", program: ["/home/me/engine", "--token", "abc"] }),
    );
    expect(shown.slice(-4)).toEqual(["-o", "t", "engine", "…"]);
    expect(shownExport("/opt/nsys", "/secret/t.nsys-rep", "/secret/t.sqlite").join(" ")).not.toContain("secret");
  });
});

describe("a run of nsys", () => {
  it("gives a recording, and its export is a timeline", async () => {
    writeFileSync(join(folder, "timeline.nsys-rep"), "of an earlier run");
    const heard: string[] = [];
    const recording = await runNsysProfile(options({ onOutput: (chunk) => heard.push(chunk.toString()) }), plan());
    expect(recording).toMatchObject({ endedBy: "itself", exit: { code: 0 }, path: join(folder, "timeline.nsys-rep") });
    expect(heard.join("")).toContain("warm");
    expect(nsysFailure(recording, "timeline")).toBeNull();
    const exported = await runNsysExport(options(), recording.path ?? "", join(folder, "t.sqlite"));
    expect(exported).toMatchObject({ endedBy: "itself", exit: { code: 0 } });
    expect(exported.bytes).toBeGreaterThan(10_000);
    const timeline = await readTimelineFixture(exported.path ?? "");
    expect(timeline.rows.count).toBeGreaterThan(20);
    await none();
  });

  it("has not failed where it ends with 143 when its window closes, or with the code of the program", async () => {
    const window = await runNsysProfile(options(), plan({ window: "cuda_profiler_api" }));
    expect(window.exit.code).toBe(143);
    expect(nsysFailure(window, "timeline")).toBeNull();
    const failed = await runNsysProfile(options(), plan({ program: [process.execPath, "-e", "process.exit(3)"] }));
    expect(failed.exit.code).toBe(3);
    expect(nsysFailure(failed, "timeline")).toBeNull();
  });

  it("has failed where it leaves no recording, whatever its code", async () => {
    writeFileSync(join(folder, "timeline.nsys-rep"), "of an earlier run");
    const run = await runNsysProfile(options({ env: { STAND_IN_TIMELINES: "none" } }), plan());
    expect(run).toMatchObject({ exit: { code: 0 }, path: null });
    expect(nsysFailure(run, "timeline")).toMatchObject({ code: "nsys_failed", evidence: { exit_code: 0 } });
    const missing = await runNsysProfile(options({ nsys: join(folder, "none") }), plan());
    expect(nsysFailure(missing, "timeline")).toMatchObject({ code: "tool_missing" });
    writeFileSync(join(folder, "foreign.nsys-rep"), "something else");
    const exported = await runNsysExport(options(), join(folder, "foreign.nsys-rep"), join(folder, "t.sqlite"));
    expect(nsysFailure(exported, "export")).toMatchObject({ code: "nsys_failed" });
  });

  it.each([
    ["time_limit", { totalMs: 1000 }, STAYS, "capture_timeout"],
    ["disk_full", { diskFloorBytes: Number.MAX_SAFE_INTEGER }, STAYS, "disk_full"],
    [
      "output_limit",
      {},
      [process.execPath, "-e", 'const say = () => process.stdout.write("x".repeat(999) + "\\n", say); say();'],
      "output_too_large",
    ],
  ] as const)("ends at its %s, with all that it started", async (endedBy, limits, program, code) => {
    const run = await runNsysProfile(options({ limits }), plan({ program }));
    expect(run.endedBy).toBe(endedBy);
    expect(nsysFailure(run, "timeline")).toMatchObject({ code });
    await none();
  });

  it.each([
    ["canceled", "capture_killed"],
    ["lease_lost", "lease_lost"],
    ["worker_stopping", "worker_stopped"],
  ] as const)("is stopped: %s", async (reason, code) => {
    const stop = new AbortController();
    const run = await runNsysProfile(
      options({ stop: stop.signal, onOutput: () => stop.abort(reason) }),
      plan({ program: STAYS }),
    );
    expect(run.endedBy).toBe(reason);
    // A recording that was cut may lack its end.
    expect(nsysFailure(run, "timeline")).toMatchObject({ code });
    await none();
  });

  it("keeps secrets out of its last lines", async () => {
    const run = await runNsysProfile(
      options({ secrets: ["geheim-wort"] }),
      plan({ program: [process.execPath, "-e", "console.log('with geheim-wort')"] }),
    );
    expect(run.outputTail.join("\n")).toContain("with [redacted]");
  });
});

it("the stand-in is found as nsys", async () => {
  const tools = await readTools({ ncu: "/none", nsys: NSYS });
  expect(tools.nsys).toMatchObject({ ok: true, value: { version: expect.stringMatching(/^2025\.3\.2/) } });
});

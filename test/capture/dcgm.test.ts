import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { resumeLeftovers, withCountersFree } from "../../src/capture/host/dcgm.ts";
import type { Finding } from "../../src/model/finding.ts";
import { type Said, writeProgram } from "./programs.ts";

let folder: string;
let records: string;
let findings: Finding[];
const onProblem = (finding: Finding): void => {
  findings.push(finding);
};
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "dcgm-test-"));
  records = join(folder, "records");
  findings = [];
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function dcgmi(...said: Said[]) {
  const program = writeProgram(folder, "dcgmi", [...said, { args: /^profile --(pause|resume)$/ }]);
  const commands = { pause: [program, "profile", "--pause"], resume: [program, "profile", "--resume"] };
  const calls = (): string[] =>
    existsSync(`${program}.calls`)
      ? readFileSync(`${program}.calls`, "utf8")
          .trim()
          .split("\n")
          .map((line) => JSON.parse(line)[1])
      : [];
  return { commands, calls };
}

const left = (): string[] => (existsSync(records) ? readdirSync(records) : []);

describe("withCountersFree", () => {
  it("pauses before and resumes after, with a record in between", async () => {
    const { commands, calls } = dcgmi();
    const value = await withCountersFree({ commands, recordFolder: records, onProblem }, async () => {
      expect(calls()).toEqual(["--pause"]);
      const [name = ""] = left();
      expect(JSON.parse(readFileSync(join(records, name), "utf8"))).toMatchObject({ resume: commands.resume });
      return 7;
    });
    expect(value).toBe(7);
    expect(calls()).toEqual(["--pause", "--resume"]);
    expect(left()).toEqual([]);
    expect(findings).toEqual([]);
  });

  it("resumes after a run that failed", async () => {
    const { commands, calls } = dcgmi();
    const run = withCountersFree({ commands, recordFolder: records, onProblem }, () => Promise.reject(new Error("no")));
    await expect(run).rejects.toThrow("no");
    expect(calls()).toEqual(["--pause", "--resume"]);
    expect(left()).toEqual([]);
  });

  it("of runs that overlap lets the first pause and the last resume", async () => {
    const { commands, calls } = dcgmi();
    const options = { commands, recordFolder: records, onProblem };
    let endFirst: () => void = () => {};
    const first = withCountersFree(options, () => new Promise<void>((resolve) => (endFirst = resolve)));
    await withCountersFree(options, async () => {
      endFirst();
      await first;
      expect(calls()).toEqual(["--pause"]);
      expect(left()).toHaveLength(1);
    });
    expect(calls()).toEqual(["--pause", "--resume"]);
    await withCountersFree(options, async () => {});
    expect(calls()).toEqual(["--pause", "--resume", "--pause", "--resume"]);
  });

  it("goes on with a finding where pausing fails", async () => {
    const { commands, calls } = dcgmi({
      args: /--pause/,
      stderr: "Error: unable to connect to host engine\n",
      code: 255,
    });
    expect(await withCountersFree({ commands, recordFolder: records, onProblem }, async () => 1)).toBe(1);
    expect(findings).toMatchObject([
      { code: "counters_not_freed", severity: "warning", message: expect.stringContaining("unable to connect") },
    ]);
    expect(calls()).toEqual(["--pause", "--resume"]);
  });

  it("tells loudly where resuming fails, and keeps the record for the next start", async () => {
    const { commands, calls } = dcgmi({ args: /--resume/, stderr: "Error: timed out\n", code: 1 });
    await withCountersFree({ commands, recordFolder: records, onProblem }, async () => {});
    expect(calls()).toEqual(["--pause", "--resume", "--resume", "--resume"]);
    expect(findings).toMatchObject([{ code: "counters_not_given_back", severity: "error" }]);
    expect(left()).toHaveLength(1);

    dcgmi();
    expect(await resumeLeftovers({ recordFolder: records, onProblem })).toEqual({ resumed: 1 });
    expect(left()).toEqual([]);
  });

  it("does not run where the record cannot be written", async () => {
    const { commands, calls } = dcgmi();
    writeFileSync(records, "a file");
    const run = withCountersFree({ commands, recordFolder: records, onProblem }, async () => 1);
    await expect(run).rejects.toThrow();
    expect(calls()).toEqual([]);
  });

  it("runs alone where nothing is configured", async () => {
    expect(await withCountersFree({ commands: null, recordFolder: records, onProblem }, async () => 2)).toBe(2);
    expect(left()).toEqual([]);
  });
});

describe("resumeLeftovers", () => {
  it("finds nothing to do in an empty or missing folder", async () => {
    expect(await resumeLeftovers({ recordFolder: records, onProblem })).toEqual({ resumed: 0 });
  });

  it.each([
    ["a damaged record", "{", 0o600],
    ["another form", JSON.stringify({ version: 1, resume: [] }), 0o600],
    ["a record that others may write", null, 0o666],
  ])("runs nothing of %s", async (_name, text, mode) => {
    const { commands, calls } = dcgmi();
    mkdirSync(records);
    const record = { version: 1, resume: commands.resume, paused_at: "2026-12-01T00:00:00.000Z" };
    writeFileSync(join(records, "dcgm-pause-1.json"), text ?? JSON.stringify(record));
    chmodSync(join(records, "dcgm-pause-1.json"), mode);
    expect(await resumeLeftovers({ recordFolder: records, onProblem })).toEqual({ resumed: 0 });
    expect(findings).toMatchObject([{ code: "counters_not_given_back", message: expect.stringContaining("by hand") }]);
    expect(calls()).toEqual([]);
  });
});

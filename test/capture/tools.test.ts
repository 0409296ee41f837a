import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parseSets, readTools } from "../../src/capture/host/tools.ts";
import { fixture } from "../helpers/fixtures.ts";
import { NCU_2025_3, writeProgram } from "./programs.ts";

const SETS = fixture("ncu/2025.3.1/list-sets.txt").toString();

let folder: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "tools-test-")));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A folder of its own with one program. */
function program(at: string, name: string, said: Parameters<typeof writeProgram>[2]): string {
  mkdirSync(join(folder, at), { recursive: true });
  return writeProgram(join(folder, at), name, said);
}

const read = (path: string, more: object = {}) =>
  readTools({ ncu: "ncu", env: { PATH: path }, installed: [join(folder, "opt")], ...more });

const NPM_CHECK_UPDATES = [{ args: /--version/, stdout: "17.1.3\n" }];

describe("readTools", () => {
  it("reads ncu by the path behind its link, and the nsys beside it", async () => {
    const real = program("opt/2025.3.1", "ncu", NCU_2025_3);
    const nsys = program("opt/2025.3.1/host/target-linux-x64", "nsys", [
      { args: /--version/, stdout: "NVIDIA Nsight Systems version 2025.3.2.474-253236389321v0\n" },
    ]);
    mkdirSync(join(folder, "bin"));
    symlinkSync(real, join(folder, "bin/ncu"));
    expect(await read(join(folder, "bin"))).toEqual({
      ncu: {
        ok: true,
        value: {
          path: real,
          version: "2025.3.1.0",
          sets: ["basic", "detailed", "full", "nvlink", "pmsampling", "roofline"],
          supports: { mode: true, processId: false, communicator: true },
        },
      },
      nsys: { ok: true, value: { path: nsys, version: "2025.3.2.474-253236389321v0" } },
    });
  });

  it("passes over another program of that name", async () => {
    program("npm", "ncu", NPM_CHECK_UPDATES);
    const real = program("cuda", "ncu", NCU_2025_3);
    const { ncu } = await read(`${join(folder, "npm")}:${join(folder, "cuda")}`);
    expect(ncu).toMatchObject({ ok: true, value: { path: real } });
  });

  it("takes the newest where it is only installed", async () => {
    program("opt/2025.3.1", "ncu", NCU_2025_3);
    const newest = program("opt/2025.10.0", "ncu", NCU_2025_3);
    expect((await read("/nowhere")).ncu).toMatchObject({ ok: true, value: { path: newest } });
  });

  it("says what it found instead", async () => {
    const path = program("npm", "ncu", NPM_CHECK_UPDATES);
    const { ncu, nsys } = await readTools({ ncu: path, env: { PATH: "/nowhere" } });
    expect(ncu).toEqual({ ok: false, error: `${path} is not Nsight Compute: its --version says "17.1.3"` });
    expect(nsys).toEqual({ ok: false, error: "nsys was not found on the PATH or beside ncu" });
    const missing = await readTools({ ncu: join(folder, "nothing"), env: {} });
    expect(missing.ncu).toMatchObject({ ok: false, error: expect.stringContaining("was not found") });
  });

  it("keeps to the nsys that is named", async () => {
    const nsys = program("nsys", "nsys", [{ args: /./, stderr: "no libdw\n", code: 127 }]);
    const tools = await readTools({ ncu: "ncu", nsys, env: { PATH: "/nowhere" }, installed: [] });
    expect(tools.nsys).toEqual({ ok: false, error: `${nsys} ended with 127: no libdw` });
  });
});

describe("parseSets", () => {
  it("reads the table of 2025.3.1", () => {
    expect(parseSets(SETS)).toEqual(["basic", "detailed", "full", "nvlink", "pmsampling", "roofline"]);
  });

  it("finds nothing in other text", () => {
    expect(parseSets("basic a b\n")).toEqual([]);
    expect(parseSets("")).toEqual([]);
  });
});

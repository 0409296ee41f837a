import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  readCounterPermission,
  readDiskFree,
  readHostProcesses,
  withDescendants,
} from "../../src/capture/host/host.ts";
import { writeProc } from "./programs.ts";

let proc: string;
beforeEach(() => {
  proc = mkdtempSync(join(tmpdir(), "host-test-"));
});
afterEach(() => rmSync(proc, { recursive: true, force: true }));

const ALL = "000001ffffffffff";
/** What a container has by default (Docker 27). */
const CONTAINER = "00000000a80425fb";

describe("readCounterPermission", () => {
  it.each([
    ["open to everybody", { adminOnly: 0, capEff: "0000000000000000" }, true],
    ["an administrator", { adminOnly: 1, capEff: ALL }, true],
    ["root of a container without the capability", { adminOnly: 1, capEff: CONTAINER }, false],
    ["a capability of a user namespace", { adminOnly: 1, capEff: ALL, uidMap: "0 1000 1" }, null],
    ["an administrator who cannot see the option", { capEff: ALL }, true],
    ["nobody who cannot see the option", { capEff: CONTAINER }, null],
  ])("%s", async (_name, host, expected) => {
    writeProc(proc, host);
    const { permitted } = await readCounterPermission({ proc });
    expect(permitted.value).toBe(expected);
    if (expected === null) expect(permitted.reason).toMatch(/namespace|cannot be read/);
  });

  it("finds nothing in files of another form", async () => {
    writeProc(proc, { capEff: "xyz" });
    mkdirSync(join(proc, "driver/nvidia"), { recursive: true });
    writeFileSync(join(proc, "driver/nvidia/params"), "RmProfilingAdminOnly: 7\n");
    const { admin_only, sys_admin } = await readCounterPermission({ proc });
    expect(admin_only).toMatchObject({ value: null, reason: expect.stringContaining("RmProfilingAdminOnly") });
    expect(sys_admin).toMatchObject({ value: null, reason: expect.stringContaining("CapEff") });
  });

  it("reads the real /proc without an error", async () => {
    expect((await readCounterPermission()).sys_admin).toHaveProperty("value");
  });
});

describe("readHostProcesses", () => {
  it("reads pids, parents and names that hold parentheses", async () => {
    writeProc(proc, {
      processes: [
        [7, 1, "nv-hostengine"],
        [30, 7, "a (b) c"],
        [4, 30, "x"],
      ],
    });
    mkdirSync(join(proc, "99"));
    const processes = await readHostProcesses({ proc });
    expect(processes.value).toEqual([
      { pid: 4, parent: 30, name: "x" },
      { pid: 7, parent: 1, name: "nv-hostengine" },
      { pid: 30, parent: 7, name: "a (b) c" },
    ]);
    expect(withDescendants([7], processes.value ?? [])).toEqual(new Set([7, 30, 4]));
    expect(withDescendants([30, 5], processes.value ?? [])).toEqual(new Set([30, 4, 5]));
  });

  it("sees this process", async () => {
    const { value } = await readHostProcesses();
    expect(value?.find(({ pid }) => pid === process.pid)).toMatchObject({ parent: process.ppid });
  });
});

it("reads the free space of a folder, and says why it cannot", async () => {
  expect((await readDiskFree(proc)).value).toBeGreaterThan(0);
  expect(await readDiskFree(join(proc, "nothing"))).toMatchObject({
    value: null,
    reason: expect.stringContaining("ENOENT"),
  });
});

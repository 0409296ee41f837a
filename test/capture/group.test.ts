import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { endProcess, processStartTime } from "../../src/base/process-identity.ts";
import { endLeftovers, type Group, type GroupOptions, startGroup } from "../../src/capture/process/group.ts";
import { GROUP_VARIABLE } from "../../src/capture/process/guardian.ts";
import { endAtExit } from "../helpers/end-at-exit.ts";
import { until } from "../helpers/until.ts";

let folder: string;
const groups: Group[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "pk-group-"));
});
afterEach(async () => {
  for (const group of groups.splice(0)) await group.end({ signal: "SIGTERM", graceMs: 0 });
  await rm(folder, { recursive: true, force: true });
});

const options = (script: string, more: Partial<GroupOptions> = {}): GroupOptions => ({
  argv: [process.execPath, "-e", script],
  cwd: folder,
  env: { PATH: process.env.PATH ?? "" },
  outputPath: join(folder, "output.txt"),
  outputLimitBytes: 1_000_000,
  recordFolder: join(folder, "groups"),
  ...more,
});

async function start(script: string, more: Partial<GroupOptions> = {}): Promise<Group> {
  const group = await startGroup(options(script, more));
  groups.push(group);
  return group;
}

const output = (): string => readFileSync(join(folder, "output.txt"), "utf8");
const records = (): string[] => readdirSync(join(folder, "groups"));
const alive = async (pid: number): Promise<boolean> => (await processStartTime(pid)) !== null;
/** Pids that a script printed as `pid N`. */
const printed = (): number[] => [...output().matchAll(/pid (\d+)/g)].map(([, pid]) => Number(pid));
const parentOf = async (pid: number): Promise<number> => {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8");
  return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
};

/** Says its pid and stays; what the signals do to it is `react`. */
const STAYS = `console.log("pid " + process.pid); setInterval(() => {}, 1000);`;
const IGNORES = `process.on("SIGTERM", () => {}); process.on("SIGINT", () => {}); ${STAYS}`;
/** Starts a child of its own session, as daemons do, that ignores SIGTERM; `env` as given. */
const withDaemon = (env: string, then: string): string => `
  const { spawn } = require("node:child_process");
  const child = spawn(process.execPath, ["-e", ${JSON.stringify(IGNORES)}], { detached: true, stdio: ["ignore", 1, 2], env: ${env} });
  child.unref();
  ${then}`;

describe("a group", () => {
  it("tells exit code and all output", async () => {
    const chunks: Buffer[] = [];
    const group = await start(`process.stdout.write("a".repeat(300000)); console.error("b"); process.exitCode = 3;`, {
      onOutput: (chunk) => chunks.push(chunk),
    });
    const end = await group.ended;
    expect(end).toEqual({ code: 3, signal: null, outputBytes: 300002, outputTruncated: false, startError: null });
    expect(output()).toHaveLength(300002);
    expect(Buffer.concat(chunks).toString()).toBe(output());
    await group.gone;
    expect(records()).toEqual([]);
  });

  it("says why a program cannot be started", async () => {
    const missing = await start("", { argv: [join(folder, "no-such-program")] });
    expect(await missing.ended).toMatchObject({ code: null, signal: null, startError: "ENOENT" });
    await missing.gone;
    await writeFile(join(folder, "no-program"), "text", { mode: 0o600 });
    const text = await start("", { argv: [join(folder, "no-program")] });
    expect(await text.ended).toMatchObject({ startError: "EACCES" });
    expect(records()).toEqual([]);
  });

  it("gives the program its environment, the marker and nothing else", async () => {
    const group = await start("console.log(JSON.stringify(process.env))", { env: { PATH: "/bin", GIVEN: "1" } });
    await group.ended;
    const env = JSON.parse(output());
    expect(Object.keys(env).sort()).toEqual(["GIVEN", "PATH", GROUP_VARIABLE].sort());
  });

  it("cuts the file at the limit, tells it once and lets the program go on", async () => {
    let told = 0;
    let seen = 0;
    const group = await start(`for (let i = 0; i < 50; i++) process.stdout.write("x".repeat(10000));`, {
      outputLimitBytes: 25_000,
      onOutput: (chunk) => {
        seen += chunk.length;
      },
      onOutputLimit: () => {
        told++;
      },
    });
    expect(await group.ended).toMatchObject({ code: 0, outputBytes: 500_000, outputTruncated: true });
    expect([told, seen, output().length]).toEqual([1, 500_000, 25_000]);
  });

  it("passes a signal on to the whole group", async () => {
    const group = await start(
      `const { spawn } = require("node:child_process"); spawn(process.execPath, ["-e", ${JSON.stringify(STAYS)}], { stdio: "inherit" }); ${STAYS}`,
    );
    await until(() => printed().length === 2);
    group.signal("SIGTERM");
    expect(await group.ended).toMatchObject({ code: null, signal: "SIGTERM" });
    await group.gone;
    for (const pid of printed()) expect(await alive(pid)).toBe(false);
    // Nothing to signal any more: no error, and nobody else is hit.
    group.signal("SIGKILL");
  });

  it("has ended with its first process and is gone with its last", async () => {
    const group = await start(
      `const { spawn } = require("node:child_process"); spawn(process.execPath, ["-e", ${JSON.stringify(STAYS)}], { stdio: "inherit" }).unref(); setTimeout(() => process.exit(0), 100);`,
    );
    expect(await group.ended).toMatchObject({ code: 0 });
    await until(() => printed().length === 1);
    const [child = 0] = printed();
    expect(await alive(child)).toBe(true);
    let gone = false;
    void group.gone.then(() => {
      gone = true;
    });
    expect(gone).toBe(false);
    process.kill(child, "SIGKILL");
    await group.gone;
    expect(records()).toEqual([]);
  });

  it("kills what ignores SIGTERM after the grace time", async () => {
    const group = await start(IGNORES);
    await until(() => printed().length === 1);
    const from = Date.now();
    expect(await group.end({ signal: "SIGTERM", graceMs: 300 })).toMatchObject({ signal: "SIGKILL" });
    expect(Date.now() - from).toBeGreaterThanOrEqual(290);
    expect(await alive(group.pid)).toBe(false);
  });

  it("is not waited for longer once a shorter end is asked for", async () => {
    const group = await start(IGNORES);
    await until(() => printed().length === 1);
    const slow = group.end({ signal: "SIGINT", graceMs: 600_000 });
    await group.end({ signal: "SIGTERM", graceMs: 10 });
    expect(await slow).toMatchObject({ signal: "SIGKILL" });
  });

  it.each([
    ["carries the marker", "process.env"],
    ["has lost the marker and is still a descendant", "{ PATH: process.env.PATH }"],
  ])("finds a child in a session of its own that %s", async (_, env) => {
    const group = await start(withDaemon(env, STAYS));
    await until(() => printed().length === 2);
    await group.end({ signal: "SIGTERM", graceMs: 5000 });
    for (const pid of printed()) expect(await alive(pid)).toBe(false);
  });

  it("finds a daemon whose parent is gone", async () => {
    const group = await start(withDaemon("process.env", "setTimeout(() => process.exit(0), 50);"));
    await group.ended;
    await until(() => printed().length === 1);
    const [daemon = 0] = printed();
    expect(await alive(daemon)).toBe(true);
    await group.end({ signal: "SIGTERM", graceMs: 5000 });
    expect(await alive(daemon)).toBe(false);
  });

  it("ends when its guardian is killed, with all that came of it", async () => {
    const group = await start(withDaemon("process.env", IGNORES));
    await until(() => printed().length === 2);
    process.kill(await parentOf(group.pid), "SIGKILL");
    expect(await group.ended).toMatchObject({ code: null, signal: "SIGKILL" });
    await group.gone;
    for (const pid of printed()) expect(await alive(pid)).toBe(false);
    expect(records()).toEqual([]);
  });
});

describe("when the worker dies", () => {
  /** A worker of its own process that starts a group and says so. */
  async function worker(script: string) {
    const file = join(folder, "worker.mts");
    const group = new URL("../../src/capture/process/group.ts", import.meta.url).href;
    await writeFile(
      file,
      `import { startGroup } from ${JSON.stringify(group)};
       const group = await startGroup(${JSON.stringify(options(script))});
       console.log(group.pid);
       setInterval(() => {}, 1000);`,
    );
    const child = endAtExit(
      spawn(process.execPath, ["--import", import.meta.resolve("tsx"), file], { stdio: ["ignore", "pipe", "inherit"] }),
    );
    const pid = await new Promise<number>((resolve) => child.stdout.once("data", (text) => resolve(Number(text))));
    return { child, pid };
  }

  it("by SIGKILL, the guardian ends the group, also what ignores SIGTERM or made a session of its own", async () => {
    const { child, pid } = await worker(withDaemon("process.env", IGNORES));
    await until(() => printed().length === 2);
    expect(records()).toHaveLength(1);
    const guardian = await parentOf(pid);
    child.kill("SIGKILL");
    const from = Date.now();
    for (const member of printed()) await until(async () => !(await alive(member)));
    expect(Date.now() - from).toBeLessThan(5000);
    await until(async () => !(await alive(guardian)));
    await until(() => records().length === 0);
  });

  it("or stands still for longer than its lease lasts, the guardian ends the group", async () => {
    const { child } = await worker(IGNORES);
    await until(() => printed().length === 1);
    const [pid = 0] = printed();
    const from = Date.now();
    child.kill("SIGSTOP");
    await until(async () => !(await alive(pid)));
    expect(Date.now() - from).toBeGreaterThan(4_000);
    // The guardian takes the record away once it has seen that all are gone.
    await until(() => records().length === 0);
    child.kill("SIGKILL");
  });

  it("together with the guardian, the next start ends what is left", async () => {
    const { child, pid } = await worker(withDaemon("process.env", IGNORES));
    await until(() => printed().length === 2);
    const guardian = await parentOf(pid);
    // Stopped, so that neither can do anything about the other's end.
    process.kill(guardian, "SIGSTOP");
    child.kill("SIGKILL");
    process.kill(guardian, "SIGKILL");
    await until(async () => !(await alive(guardian)) && !(await alive(child.pid as number)));
    for (const member of printed()) expect(await alive(member)).toBe(true);
    expect(await endLeftovers(join(folder, "groups"))).toBe(1);
    for (const member of printed()) expect(await alive(member)).toBe(false);
    expect(records()).toEqual([]);
    expect(await endLeftovers(join(folder, "groups"))).toBe(0);
  });

  it("leaves the groups of a worker that lives alone, and other processes with the numbers of old ones", async () => {
    const group = await start(STAYS);
    await until(() => printed().length === 1);
    expect(await endLeftovers(join(folder, "groups"))).toBe(0);
    expect(await alive(group.pid)).toBe(true);

    const stranger = endAtExit(spawn(process.execPath, ["-e", STAYS], { detached: true, stdio: "ignore" }));
    const pid = stranger.pid as number;
    const startTime = (await processStartTime(pid)) as string;
    const [boot = "", start_ = "0"] = startTime.split("/");
    const record = join(folder, "groups", "00000000-0000-0000-0000-000000000000.json");
    // An old group had the number that a stranger has now: the start time differs.
    const old = {
      marker: "none",
      pid,
      leader_start: Number(start_) - 1,
      start: 0,
      boot,
      owner: 1,
      owner_start_time: null,
    };
    await writeFile(record, JSON.stringify(old));
    expect(await endLeftovers(join(folder, "groups"))).toBe(0);
    expect(existsSync(record)).toBe(false);
    expect(await alive(pid)).toBe(true);
    await endProcess(pid, startTime, 0);
  });

  it("has nothing to end where no folder is, or a record is torn", async () => {
    expect(await endLeftovers(join(folder, "none"))).toBe(0);
    await start("");
    await writeFile(join(folder, "groups", "00000000-0000-0000-0000-000000000001.json"), "{");
    expect(await endLeftovers(join(folder, "groups"))).toBe(0);
  });
});

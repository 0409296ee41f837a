import { describe, expect, it } from "vitest";
import { describeFailure, helperEnvironment, runCommand } from "../../src/capture/process/command.ts";
import { until } from "../helpers/until.ts";

const node = (script: string, ...args: string[]): string[] => [process.execPath, "-e", script, ...args];
const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

describe("runCommand", () => {
  it("tells exit code and both streams apart", async () => {
    const argv = node("console.log('out'); console.error('err'); process.exitCode = 3");
    expect(await runCommand(argv, { timeoutMs: 30_000 })).toEqual({
      code: 3,
      signal: null,
      stdout: "out\n",
      stderr: "err\n",
      timedOut: false,
      missing: false,
      truncated: false,
    });
  });

  it("says that a program is missing", async () => {
    const argv = ["/nowhere/nvidia-smi"];
    const result = await runCommand(argv, { timeoutMs: 30_000 });
    expect(result).toMatchObject({ code: null, missing: true, stderr: "/nowhere/nvidia-smi: ENOENT" });
    expect(describeFailure(argv, result)).toBe("/nowhere/nvidia-smi was not found or may not be executed");
  });

  it("kills the group at the limit, what the command started included", async () => {
    const script = `
      const { spawn } = require("node:child_process");
      const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1e6)"], { stdio: "inherit" });
      process.stdout.write(child.pid + "\\n");
      setInterval(() => {}, 1e6);
    `;
    const result = await runCommand(node(script), { timeoutMs: 1_500 });
    expect(result).toMatchObject({ code: null, timedOut: true });
    const grandchild = Number(result.stdout);
    expect(grandchild).toBeGreaterThan(0);
    await until(() => !isAlive(grandchild));
  });

  it("does not wait for a process that left the group with the pipes", async () => {
    const script = `
      const { spawn } = require("node:child_process");
      const child = spawn(process.execPath, ["-e", "setTimeout(() => {}, 20000)"], { stdio: "inherit", detached: true });
      process.stdout.write(child.pid + "\\n");
      child.unref();
    `;
    const result = await runCommand(node(script), { timeoutMs: 1_500 });
    expect(result.timedOut).toBe(true);
    process.kill(Number(result.stdout), "SIGKILL");
  });

  it("ends when the caller gives up", async () => {
    const giveUp = new AbortController();
    const running = runCommand(node("setInterval(() => {}, 1e6)"), { timeoutMs: 60_000, signal: giveUp.signal });
    giveUp.abort();
    expect(await running).toMatchObject({ code: null, timedOut: false });
  });

  it("keeps no more than the limit of a stream and reads the rest", async () => {
    const argv = node("process.stdout.write('a'.repeat(3_000_000), () => console.error('done'))");
    const result = await runCommand(argv, { timeoutMs: 30_000, maxBytes: 1000 });
    expect(result).toMatchObject({ code: 0, truncated: true, stderr: "done\n" });
    expect(result.stdout).toBe("a".repeat(1000));
  });

  it("hands on no setting of the worker", async () => {
    const given = { PATH: "/bin", HOME: "/home/w", API_KEY: "pk_secret", REDIS_URL: "redis://x", LANG: "de_DE" };
    expect(helperEnvironment(given)).toEqual({ PATH: "/bin", HOME: "/home/w", LC_ALL: "C" });
  });
});

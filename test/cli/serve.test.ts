import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { cli, startCli } from "../helpers/cli.ts";

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), "serve-test-"));
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

/** Embedded everything, whatever the environment of the tests says. */
const EMBEDDED = { REDIS_URL: "", DATABASE_URL: "", API_KEY: "", ROLE: "", LOG_LEVEL: "warn", HOST: "", PORT: "" };

const start = (stdio: "ignore" | "ipc" = "ignore") =>
  startCli(["serve", "--host", "127.0.0.1", "--port", "0", "--data-dir", dataDir], EMBEDDED, {
    stdio: ["ignore", "pipe", "inherit", stdio],
  });

async function addressOf(child: ReturnType<typeof start>): Promise<string> {
  if (!child.stdout) throw new Error("no stdout");
  const [line] = await once(createInterface(child.stdout), "line");
  return String(line).replace("profile-kernel listens on ", "");
}

describe("serve", () => {
  it.each(["SIGTERM", "SIGINT"] as const)("answers on the port it prints, and ends in order on %s", async (signal) => {
    const child = start();
    const exit = once(child, "exit");
    const url = await addressOf(child);
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect((await fetch(`${url}/livez`)).status).toBe(200);
    child.kill(signal);
    expect(await exit).toEqual([0, null]);
    await expect(fetch(`${url}/livez`)).rejects.toThrow();
  });

  it("ends with the parent that started it", async () => {
    const child = start("ipc");
    const exit = once(child, "exit");
    const [message] = await once(child, "message");
    expect(message).toEqual({ type: "listening", url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/) });
    child.disconnect();
    expect(await exit).toEqual([0, null]);
  });

  it.each([
    [["--port", "http"], /PORT=http/],
    [["--host", "0.0.0.0"], /HOST=0\.0\.0\.0 .* API key/],
  ])("refuses %j with a sentence", async (flags, sentence) => {
    const { code, stdout, stderr } = await cli(["serve", "--data-dir", dataDir, ...flags], { env: EMBEDDED });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(sentence);
  });
});

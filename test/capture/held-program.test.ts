import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type HeldProgram, holdProgram } from "../../src/capture/pipeline/held-program.ts";
import { until } from "../helpers/until.ts";

const NCU = fileURLToPath(new URL("../stand-in/ncu.mjs", import.meta.url));
const STAYS = [process.execPath, "-e", "setInterval(() => {}, 1000)"];

let folder: string;
let held: HeldProgram | null = null;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "pk-held-"));
});
afterEach(async () => {
  await held?.end(100);
  held = null;
  await rm(folder, { recursive: true, force: true });
});

const hold = async (program: readonly string[], ncu = NCU): Promise<HeldProgram> => {
  held = await holdProgram({
    ncu,
    program,
    env: { PATH: process.env.PATH ?? "", TMPDIR: folder, STAND_IN_SCENARIO: "tiny-verdict" },
    cwd: folder,
    outputPath: join(folder, "held.out"),
    outputLimitBytes: 1024 * 1024,
    recordFolder: join(folder, "groups"),
  });
  return held;
};
const NEVER = new AbortController().signal;

describe("a program that is held beside another", () => {
  it("waits at a port of its own, and nothing is left of it at its end", async () => {
    const program = await hold(STAYS);
    const port = await program.waiting(10_000, NEVER);
    expect(port).toMatchObject({ port: expect.any(Number), pid: expect.any(Number) });
    expect(await program.pids()).toContain("pid" in port ? port.pid : -1);
    await program.end(1_000);
    await until(async () => (await program.pids()).length === 0);
  });

  it("is of no use where it ended, where it cannot be started and where it comes to no CUDA call", async () => {
    const gone = await hold([join(folder, "no-such-program")], join(folder, "no-ncu"));
    expect(await gone.waiting(10_000, NEVER)).toMatchObject({ reason: expect.stringContaining("ended by itself") });
    const slow = await hold(STAYS);
    expect(await slow.waiting(0, NEVER)).toEqual({ reason: "it made no CUDA call within 0 s" });
    await slow.end(100);
    const stopped = await hold(STAYS);
    expect(await stopped.waiting(10_000, AbortSignal.abort())).toEqual({ reason: "it was stopped" });
  });
});

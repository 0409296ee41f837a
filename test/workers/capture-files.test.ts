import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { writeLog } from "../../workers/capture-files.ts";
import { temporaryFolder } from "../helpers/databases.ts";

const KIB = 1024;

async function logOf(files: Readonly<Record<string, string>>, secrets: readonly string[] = []): Promise<string | null> {
  const folder = temporaryFolder();
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const path = await writeLog(folder, null, secrets);
  return path === null ? null : readFileSync(path, "utf8");
}

it("is one text of what each run said, in order, and of nothing else", async () => {
  const log = await logOf({
    "survey-0.out": "warmup done\n\n",
    "survey-0.ncu.log": "==PROF== Connected\n",
    "counters-1.out": "",
    "counters-1.ncu.log": "==PROF== Report\n",
    "counters-1.ncu-rep": "binary",
  });
  expect(log).toBe(
    "=== counters-1.ncu.log\n==PROF== Report\n\n=== survey-0.ncu.log\n==PROF== Connected\n\n=== survey-0.out\nwarmup done\n",
  );
});

it("is nothing where nothing was said", async () => {
  expect(await logOf({ "survey-0.out": " \n" })).toBeNull();
  expect(await logOf({})).toBeNull();
});

it("has the log of the engine behind it", async () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, "engine"));
  const engine = join(folder, "engine/engine.log");
  writeFileSync(engine, "fired up\n");
  const path = await writeLog(folder, engine, []);
  expect(readFileSync(path ?? "", "utf8")).toBe("=== engine.log\nfired up\n");
  expect(await writeLog(temporaryFolder(), join(folder, "gone.log"), [])).toBeNull();
});

it("holds no secret, neither a known one nor what looks like one", async () => {
  const log = await logOf({ "survey-0.out": "value hunter2hunter2 given\nHF_TOKEN=hf_abcdefghijklmnopqrst\n" }, [
    "hunter2hunter2",
  ]);
  expect(log).toBe("=== survey-0.out\nvalue [redacted] given\nHF_TOKEN=[redacted]\n");
});

it("keeps both ends of a file that is large, as whole lines", async () => {
  const line = "0123456789abcdef".repeat(4);
  const lines = Array.from(
    { length: (2048 * KIB) / 65 },
    (_, index) => `${String(index).padStart(7, "0")}${line.slice(7)}`,
  );
  const log = (await logOf({ "survey-0.out": lines.join("\n") })) ?? "";
  expect(log.length).toBeLessThan(1025 * KIB);
  const shown = log.split("\n").slice(1, -1);
  expect(shown[0]).toBe(lines[0]);
  expect(shown.at(-1)).toBe(lines.at(-1));
  const left = shown.filter((text) => text.includes("bytes left out"));
  expect(left).toHaveLength(1);
  for (const text of shown) if (!text.includes("bytes left out")) expect(text).toHaveLength(line.length);
});

it("shows no part of a secret where it is cut", async () => {
  const secret = "correct-horse-battery-staple";
  // Half of it is at the end of the head, the other half at the beginning of the tail.
  const head = `${"x".repeat(256 * KIB - secret.length / 2 - 1)}\n${secret}\n`;
  const tail = `\n${secret}\n${"y".repeat(768 * KIB - secret.length / 2 - 1)}`;
  const log = (await logOf({ "survey-0.out": `${head}${"z\n".repeat(1000)}${tail}` }, [secret])) ?? "";
  expect(log).not.toContain("correct");
  expect(log).not.toContain("staple");
});

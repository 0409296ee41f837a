import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openFileStore } from "../../src/artifacts/file-store.ts";
import { ArtifactMissingError, ArtifactTooLargeError } from "../../src/artifacts/store.ts";
import { temporaryFolder } from "../helpers/databases.ts";

async function* chunks(...parts: (string | Error)[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) {
    if (part instanceof Error) throw part;
    yield Buffer.from(part);
  }
}

const incoming = (folder: string): string[] => readdirSync(join(folder, "incoming"));
async function text(stream: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of stream) parts.push(part);
  return Buffer.concat(parts).toString();
}

it("keeps bytes under their hash and gives them back, whole and in parts", async () => {
  const folder = temporaryFolder();
  const store = await openFileStore(folder, false);
  const staged = await store.stage(chunks("hello ", "world"), 100);
  expect(staged).toMatchObject({ bytes: 11, sha256: createHash("sha256").update("hello world").digest("hex") });
  expect(readFileSync(staged.path, "utf8")).toBe("hello world");
  const key = await staged.keep();
  expect(key).toBe(`sha256/${staged.sha256.slice(0, 2)}/${staged.sha256}`);
  expect(incoming(folder)).toEqual([]);
  expect(await text(await store.read(key))).toBe("hello world");
  expect(await text(await store.read(key, { start: 4, end: 6 }))).toBe("o w");
  expect(readFileSync(await store.localPath(key), "utf8")).toBe("hello world");
  const again = await store.stage(chunks("hello world"), 100);
  expect(await again.keep()).toBe(key);
});

it("leaves nothing behind of what is not kept", async () => {
  const folder = temporaryFolder();
  const store = await openFileStore(folder, false);
  await expect(store.stage(chunks("x".repeat(60), "x".repeat(60)), 100)).rejects.toBeInstanceOf(ArtifactTooLargeError);
  await expect(store.stage(chunks("x", new Error("the client went away")), 100)).rejects.toThrow(
    "the client went away",
  );
  const staged = await store.stage(chunks("x"), 100);
  await staged.discard();
  expect(incoming(folder)).toEqual([]);
  expect(existsSync(join(folder, "sha256"))).toBe(false);
});

it("never reaches outside of its folder", async () => {
  const folder = temporaryFolder();
  const store = await openFileStore(join(folder, "store"), false);
  writeFileSync(join(folder, "secret"), "secret");
  for (const key of ["../secret", "/etc/passwd", "sha256/../../secret", `sha256/aa/${"a".repeat(64)}`, ""]) {
    await expect(store.read(key)).rejects.toBeInstanceOf(ArtifactMissingError);
    await expect(store.localPath(key)).rejects.toBeInstanceOf(ArtifactMissingError);
  }
});

it("removes what a process that died has left, and not what is being written", async () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, "incoming"), { recursive: true });
  const [old, fresh] = [join(folder, "incoming", "old"), join(folder, "incoming", "fresh")];
  writeFileSync(old, "x");
  writeFileSync(fresh, "x");
  const twoDaysAgo = Date.now() / 1000 - 2 * 24 * 60 * 60;
  utimesSync(old, twoDaysAgo, twoDaysAgo);
  await openFileStore(folder, false);
  expect(incoming(folder)).toEqual(["fresh"]);
  // Nobody else writes here: then it was left by a process that died.
  await openFileStore(folder, true);
  expect(incoming(folder)).toEqual([]);
});

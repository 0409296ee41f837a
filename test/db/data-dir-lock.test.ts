import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, it } from "vitest";
import { lockDataDir } from "../../src/db/data-dir-lock.ts";
import { temporaryFolder } from "../helpers/databases.ts";

const folder = temporaryFolder();

const HOLDER = `
  const { lockDataDir } = await import(${JSON.stringify(new URL("../../src/db/data-dir-lock.ts", import.meta.url).href)});
  console.log(lockDataDir(${JSON.stringify(folder)}) === null ? "refused" : "held");
  setInterval(() => {}, 1000);
`;

it("gives a folder to one process, and frees it however that ends", async () => {
  const unlock = lockDataDir(folder);
  expect(unlock).not.toBeNull();
  expect(lockDataDir(folder)).toBeNull();
  unlock?.();

  const holder = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "-e", HOLDER], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [said] = await once(holder.stdout, "data");
  expect(String(said).trim()).toBe("held");
  expect(lockDataDir(folder)).toBeNull();
  const ended = once(holder, "exit");
  holder.kill("SIGKILL");
  await ended;
  const again = lockDataDir(folder);
  expect(again).not.toBeNull();
  again?.();
});

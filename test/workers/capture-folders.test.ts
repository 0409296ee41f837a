import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ownedNames, removeLeftFolders } from "../../workers/capture-folders.ts";
import { temporaryFolder } from "../helpers/databases.ts";

it("removes what a process that is gone has left, and nothing of one that lives", async () => {
  const parent = temporaryFolder();
  const mine = (await ownedNames())("profile-1");
  const gone = spawn(process.execPath, ["-e", ""], { stdio: "ignore" });
  await once(gone, "exit");
  // The number of a process that lives, of another start: the number was used again.
  const again = mine.replace(/-[0-9a-f]{12}$/, "-0123456789ab");
  for (const name of [mine, again, `profile-2.${gone.pid}-0123456789ab`, "of-an-older-version-1"]) {
    mkdirSync(join(parent, name));
    writeFileSync(join(parent, name, "report.ncu-rep"), "x");
  }
  expect(await removeLeftFolders(parent)).toBe(3);
  expect(readdirSync(parent)).toEqual([mine]);
});

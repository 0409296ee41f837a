import { mkdirSync } from "node:fs";
import { join } from "node:path";
import Libsql from "libsql";

/**
 * Takes a folder for this process. The lock is SQLite's own lock of the operating system on a file that holds nothing:
 * it goes with the process, however that ends, so there is no stale lock.
 * @returns a function that gives the folder back, or null where another service has it.
 */
export function lockDataDir(dataDir: string): (() => void) | null {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const file = new Libsql(join(dataDir, "lock.sqlite"));
  try {
    file.exec("begin exclusive");
  } catch (error) {
    file.close();
    if (error instanceof Error && "code" in error && error.code === "SQLITE_BUSY") return null;
    throw error;
  }
  return () => {
    file.exec("rollback");
    file.close();
  };
}

import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";

const root = new URL("../fixtures/", import.meta.url);

/** Reports recorded with Nsight Compute 2025.3.1 on an H200; what each holds: test/fixtures/README.md. */
export const H200 = "ncu/2025.3.1/h200/";

/** Path of a fixture. */
export const fixturePath = (name: string): string => fileURLToPath(new URL(name, root));

/** Bytes of a fixture, gunzipped where the name ends in .gz. */
export function fixture(name: string): Buffer {
  const bytes = readFileSync(fixturePath(name));
  return name.endsWith(".gz") ? gunzipSync(bytes) : bytes;
}

/**
 * The folder of other people's samples, or null with a message where it is not given. One that is given and not there is
 * an error under CI, where nobody would see that tests were skipped.
 */
export function samplesDir(): string | null {
  const directory = process.env.SAMPLES_DIR;
  if (directory && existsSync(directory)) return directory;
  if (directory) {
    if (process.env.CI === "true") throw new Error(`SAMPLES_DIR does not exist: ${directory}`);
    console.warn(`SAMPLES_DIR does not exist: ${directory}: tests on public samples are skipped`);
    return null;
  }
  console.warn("SAMPLES_DIR is not set: tests on public samples are skipped");
  return null;
}

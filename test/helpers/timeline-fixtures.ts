import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { DEFAULT_TIMELINE_LIMITS, type Timeline } from "../../src/model/timeline.ts";
import { readNsysSqlite } from "../../src/timeline/nsys-sqlite/index.ts";

/** Reads an export of nsys, packed or not. */
export async function readTimelineFixture(path: string): Promise<Timeline> {
  const folder = mkdtempSync(join(tmpdir(), "pk-timeline-"));
  try {
    const plain = join(folder, "timeline.sqlite");
    const bytes = readFileSync(path);
    writeFileSync(plain, path.endsWith(".gz") ? gunzipSync(bytes) : bytes);
    const read = await readNsysSqlite(plain, "none", DEFAULT_TIMELINE_LIMITS);
    if (!read.ok) throw new Error(read.error.message);
    return read.value;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

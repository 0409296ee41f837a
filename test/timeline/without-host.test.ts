import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Libsql from "libsql";
import { expect, it } from "vitest";
import { DEFAULT_TIMELINE_LIMITS } from "../../src/model/timeline.ts";
import { readNsysSqlite } from "../../src/timeline/nsys-sqlite/index.ts";
import { takeOutHost } from "../../src/timeline/nsys-sqlite/without-host.ts";
import { temporaryFolder } from "../helpers/databases.ts";
import { fixture } from "../helpers/fixtures.ts";

const PRIVATE = [
  "hunter2-password",
  "/home/alice/models",
  "gpu-host-17.example",
  "alice-the-user",
  "0xdeadbeef-thread",
];
const [password = "", path = "", host = "", user = "", thread = ""] = PRIVATE;

/** A fixture, with what nsys writes of a machine put back into it. */
function recorded(name: string): string {
  const file = join(temporaryFolder(), "timeline.sqlite");
  writeFileSync(file, fixture(`timelines/${name}`));
  const database = new Libsql(file);
  database.prepare("INSERT INTO META_DATA_CAPTURE (name, value) VALUES (?, ?)").run("ENVIRONMENT:TOKEN", password);
  database.prepare("INSERT INTO META_DATA_CAPTURE (name, value) VALUES (?, ?)").run("COMMAND", path);
  database.prepare("INSERT INTO META_DATA_EXPORT (name, value) VALUES (?, ?)").run("EXPORT_HOST", host);
  database.prepare("INSERT INTO META_DATA_EXPORT (name, value) VALUES (?, ?)").run("EXPORT_USER", user);
  database.prepare("INSERT INTO StringIds (id, value) VALUES (?, ?)").run(999_999_001, thread);
  database.exec(`CREATE TABLE PROCESS_EVENTS (name TEXT); INSERT INTO PROCESS_EVENTS VALUES ('${path}')`);
  database.exec(`CREATE VIEW SEEN AS SELECT '${user}' AS name; CREATE INDEX BY_NAME ON StringIds (value)`);
  database
    .prepare("UPDATE StringIds SET value = ? WHERE id = (SELECT max(nameId) FROM CUPTI_ACTIVITY_KIND_RUNTIME)")
    .run(`call ${password}`);
  database.close();
  return file;
}

for (const name of ["tiny-collective.nsys.sqlite.gz", "h200-pipeline.nsys.sqlite.gz"]) {
  it(`takes out of ${name} what tells of the machine, and nothing else`, async () => {
    const file = recorded(name);
    const before = await readNsysSqlite(file, "none", DEFAULT_TIMELINE_LIMITS);
    if (!before.ok) throw new Error(before.error.message);
    await takeOutHost(file, { messages: before.value.recording.tool_messages, secrets: [password, "short"] });
    const bytes = readFileSync(file);
    expect(PRIVATE.filter((part) => bytes.includes(part))).toEqual([]);
    const after = await readNsysSqlite(file, "none", DEFAULT_TIMELINE_LIMITS);
    if (!after.ok) throw new Error(after.error.message);
    const texts = before.value.texts.map((text) => text.replaceAll(password, "[redacted]"));
    expect({ ...after.value, bytes_read: 0 }).toEqual({ ...before.value, texts, bytes_read: 0 });
  });
}

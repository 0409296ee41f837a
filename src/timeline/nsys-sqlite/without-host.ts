import { pathToFileURL } from "node:url";
import type Libsql from "libsql";
import { quoted } from "./database.ts";

/** What a file may keep, in the words of its maker's tool. */
export interface KeptTexts {
  /** Messages of the tool without private parts, as the reader gives them (`recording.tool_messages`). */
  readonly messages: readonly string[];
  /** Values that are taken out of all texts that stay: names of ranges are the program's own. */
  readonly secrets: readonly string[];
}

/** Rows of activities, and what their numbers mean. A suffix is a version (`NVTX_EVENTS_V2`). */
const KEPT_TABLES =
  /^(?:CUPTI_ACTIVITY_KIND_\w+|NVTX_EVENTS\w*|ENUM_\w+|StringIds|TARGET_INFO_(?:GPU|CUDA_GPU|CUDA_DEVICE|CUDA_CONTEXT_INFO|CUDA_STREAM|SESSION_START_TIME|SYSTEM_ENV)|META_DATA_(?:EXPORT|CAPTURE)|EXPORT_META_DATA|DIAGNOSTIC_EVENT)$/i;

/** Of tables of names and values, all that the reader asks for. */
const KEPT_VALUES: readonly (readonly [table: RegExp, names: readonly string[]])[] = [
  [/^TARGET_INFO_SYSTEM_ENV$/i, ["CudaDriverVersion", "NvDriverVersion"]],
  [/^META_DATA_CAPTURE$/i, ["%CUDA_GRAPH_TRACE_OPTIONS:MODE", "DERIVED_WINDOW_NS"]],
  [
    /^(?:META_DATA_EXPORT|EXPORT_META_DATA)$/i,
    [
      "EXPORT_PRODUCT_VERSION",
      "EXPORT_SCHEMA_VERSION",
      "EXPORT_CONFIG_TIME_SHIFT",
      "EXPORT_PARAM_TIME_NORMALIZE",
      "DERIVED_WINDOW_NS",
    ],
  ],
];

/** Columns that name a text of `StringIds`. */
const TEXT_COLUMNS = new Set(["demangledName", "shortName", "mangledName", "nameId", "textId"]);
/** Columns of texts themselves. */
const OWN_TEXTS: readonly (readonly [table: RegExp, column: string])[] = [
  [/^StringIds$/i, "value"],
  [/^NVTX_EVENTS\w*$/i, "text"],
];
const SHORTEST_SECRET = 6;

/**
 * Takes out of an export of nsys, in place, what tells of the machine: environment, command lines, paths, names of hosts,
 * users, files, processes and threads. Kernels, API calls, ranges and GPUs stay, so that it reads as before. A list says
 * what stays: what is not on it goes, with the space it took. For files that this host's own nsys wrote; in a process of
 * its own. Errors are SQLite's.
 */
export async function takeOutHost(path: string, { messages, secrets }: KeptTexts): Promise<void> {
  const { default: Open } = await import("libsql");
  const database = new Open(pathToFileURL(path).href);
  try {
    database.exec("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA trusted_schema = OFF");
    const kept: string[] = [];
    for (const { type, name } of schemaOf(database)) {
      if (type === "table" && KEPT_TABLES.test(name)) kept.push(name);
      else if (!name.startsWith("sqlite_")) database.exec(`DROP ${type.toUpperCase()} IF EXISTS ${quoted(name)}`);
    }
    for (const table of kept) {
      const names = KEPT_VALUES.find(([pattern]) => pattern.test(table))?.[1];
      if (names !== undefined) keepValues(database, table, names);
      if (/^DIAGNOSTIC_EVENT$/i.test(table)) replaceMessages(database, table, messages);
    }
    keepUsedStrings(database, kept);
    for (const [pattern, column] of OWN_TEXTS) {
      for (const table of kept.filter((name) => pattern.test(name))) redact(database, table, column, secrets);
    }
    // What was deleted lies in free pages until then.
    database.exec("VACUUM");
  } finally {
    database.close();
  }
}

function schemaOf(database: Libsql.Database): { readonly type: string; readonly name: string }[] {
  const rows = database
    .prepare("SELECT type, name FROM sqlite_master WHERE type IN ('view', 'trigger', 'table')")
    .all() as { type: string; name: string }[];
  // Views and triggers first: they name tables.
  return rows.sort((a, b) => Number(a.type === "table") - Number(b.type === "table"));
}

const columnsOf = (database: Libsql.Database, table: string): string[] =>
  (database.prepare(`SELECT name FROM pragma_table_info(?)`).all(table) as { name: string }[]).map(({ name }) => name);

function keepValues(database: Libsql.Database, table: string, names: readonly string[]): void {
  const columns = columnsOf(database, table);
  if (!columns.includes("name")) return void database.exec(`DELETE FROM ${quoted(table)}`);
  const any = names.map(() => "name LIKE ?").join(" OR ");
  database.prepare(`DELETE FROM ${quoted(table)} WHERE name IS NULL OR NOT (${any})`).run(...names);
}

/** Puts the messages into as many of the rows that had them, and takes the others away. */
function replaceMessages(database: Libsql.Database, table: string, messages: readonly string[]): void {
  const columns = columnsOf(database, table);
  const severe = columns.includes("severity") ? "AND severity IN (2, 3)" : "";
  const rows = columns.includes("text")
    ? (database
        .prepare(
          `SELECT rowid AS row FROM ${quoted(table)} WHERE (text LIKE '%CUDA%' OR text LIKE '%CUPTI%') ${severe} LIMIT ?`,
        )
        .all(messages.length) as { row: number }[])
    : [];
  for (const [at, { row }] of rows.entries()) {
    database.prepare(`UPDATE ${quoted(table)} SET text = ? WHERE rowid = ?`).run(messages[at], row);
  }
  const kept = rows.map(({ row }) => row).join(", ");
  database.exec(`DELETE FROM ${quoted(table)} WHERE rowid NOT IN (${kept})`);
}

function keepUsedStrings(database: Libsql.Database, tables: readonly string[]): void {
  const strings = tables.find((name) => /^StringIds$/i.test(name));
  if (strings === undefined) return;
  const used = tables.flatMap((table) =>
    columnsOf(database, table)
      .filter((column) => TEXT_COLUMNS.has(column))
      .map((column) => `SELECT ${quoted(column)} FROM ${quoted(table)} WHERE ${quoted(column)} IS NOT NULL`),
  );
  const some = used.length === 0 ? "SELECT NULL WHERE 0" : used.join(" UNION ");
  database.exec(`DELETE FROM ${quoted(strings)} WHERE id NOT IN (${some})`);
}

function redact(database: Libsql.Database, table: string, column: string, secrets: readonly string[]): void {
  if (!columnsOf(database, table).includes(column)) return;
  const name = quoted(column);
  const update = database.prepare(
    `UPDATE ${quoted(table)} SET ${name} = replace(${name}, ?, '[redacted]') WHERE instr(${name}, ?) > 0`,
  );
  for (const secret of secrets) if (secret.length >= SHORTEST_SECRET) update.run(secret, secret);
}

import { redactor } from "../../base/redact.ts";
import { type Database, quoted, textOf } from "./database.ts";
import { values } from "./session.ts";

const MAX_MESSAGES = 20;
const LONGEST_MESSAGE = 500;
/** What is looked at, before private parts are taken out. */
const MAX_SOURCES = 200;
const LONGEST_SOURCE = 1000;
/** ENUM_DIAGNOSTIC_SEVERITY_LEVEL: warning, error. */
const SEVERE = "2, 3";

/** Warnings and errors about CUDA events. The tool warns about NVTX, OpenGL and calls of the system in the same words. */
export function readMessages(database: Database): string[] {
  const table = database.table("DIAGNOSTIC_EVENT");
  if (table === null || !table.columns.has("text")) return [];
  const severe = table.columns.has("severity") ? `AND severity IN (${SEVERE})` : "";
  const rows = database.rows(
    `SELECT DISTINCT CAST(substr(CAST(text AS BLOB), 1, ${LONGEST_SOURCE}) AS BLOB) FROM ${quoted(table.name)}
     WHERE (text LIKE '%CUDA%' OR text LIKE '%CUPTI%') ${severe} LIMIT ${MAX_SOURCES}`,
  );
  const names = people(database);
  const redact = redactor(programs(database));
  const clean = (text: string): string => names.reduce((rest, name) => rest.replaceAll(name, "[name]"), redact(text));
  const messages = rows.map(([text]) => withoutPrivate(textOf(text) ?? "", clean)).filter((text) => text !== "");
  return [...new Set(messages)].slice(0, MAX_MESSAGES);
}

/** Names of programs and their arguments: where the file has them, messages may too. */
function programs(database: Database): string[] {
  const captured = database.table("META_DATA_CAPTURE");
  const found = ["%COMMAND", "%ARGUMENT_%", "%WORKING_DIR"].flatMap((name) => values(database, captured, name));
  const processes = database.table("PROCESSES");
  if (processes?.columns.has("name")) {
    for (const [name] of database.rows(
      `SELECT DISTINCT CAST(substr(CAST(name AS BLOB), 1, 256) AS BLOB) FROM ${quoted(processes.name)} LIMIT 1000`,
    )) {
      const text = textOf(name) ?? "";
      found.push(text, text.split(/[\\/]/).at(-1) ?? "");
    }
  }
  // An argument can be a word of the tool's own messages.
  return found.filter((value) => !/^[a-z]+$/.test(value));
}

/** Names of the host and of users. */
function people(database: Database): string[] {
  const captured = database.table("META_DATA_CAPTURE");
  const exported = database.firstTable("META_DATA_EXPORT", "EXPORT_META_DATA");
  const environment = database.table("TARGET_INFO_SYSTEM_ENV");
  return [
    ...["%USER_NAME", "DEVICE_DISPLAY_NAME"].flatMap((name) => values(database, captured, name)),
    ...["EXPORT_HOST", "EXPORT_USER"].flatMap((name) => values(database, exported, name)),
    ...["%Hostname%", "%UserName%"].flatMap((name) => values(database, environment, name)),
  ].filter((value) => value.length > 1);
}

/** Linear: each pattern is a class repeated once behind a fixed beginning. */
const PRIVATE: readonly (readonly [RegExp, string])[] = [
  // Quoted: arguments, names of programs and files. What CUDA calls its errors and functions stays.
  [/(["'`])(?!(?:CUDA|CUPTI|cuda|cupti|cu)[\w]{0,80}\1)[^"'`\n]{1,400}\1/g, "$1…$1"],
  [/\b[A-Za-z][A-Za-z0-9+.-]{1,20}:\/\/\S+/g, "[address]"],
  [/(^|[\s"'`(=:,[<])(?:~|[A-Za-z]:)?[/\\][^\s"'`),;\]>]+/g, "$1[path]"],
  [/[^\s@]{1,100}@\S{1,100}/g, "[name]"],
  [/\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b/g, "[address]"],
  [
    /\b(host(?:name)?|user(?: ?name)?|machine|node|command(?: line)?|process|program|application)(:\s*|=)\S+/gi,
    "$1$2…",
  ],
];

/** A message without what tells about the machine: paths, names of hosts and users, command lines. */
function withoutPrivate(message: string, clean: (text: string) => string): string {
  let text = clean(message.replace(/\p{Cc}+/gu, " "));
  for (const [pattern, replacement] of PRIVATE) text = text.replace(pattern, replacement);
  return text.trim().slice(0, LONGEST_MESSAGE);
}

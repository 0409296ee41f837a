import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { pathToFileURL } from "node:url";
import type Libsql from "libsql";
import type { ReadFailure } from "../../model/report.ts";
import { Refused } from "../refused.ts";

/** First bytes of a database: sqlite.org/fileformat2.html, section 1.3. */
export const SQLITE_MAGIC = "SQLite format 3\0";

/** Versions of the tool write some tables under a name with a suffix (`NVTX_EVENTS_V2`). */
const VERSION_SUFFIX = /_?V(\d{1,4})$/i;
/** Tables of an export with all of its enumerations: about 90. */
const MAX_TABLES = 2000;

/** Bytes of the shortest row of an activity: six numbers of a byte, each with a byte of its type, and a header. */
const SHORTEST_ROW = 14;

/** A table that may be read: a plain one, whose columns are all stored. */
export interface Table {
  readonly name: string;
  readonly columns: ReadonlySet<string>;
  /** The column that is the row's own number (`INTEGER PRIMARY KEY`), so that one row is found without a scan. */
  readonly key: string | null;
}

export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/**
 * Someone else's database, opened so that it cannot act: nothing is written, no journal beside it is looked for
 * (`immutable`), its schema is not trusted, and only tables that are stored rows are read: a view, a virtual table or a
 * generated column would run expressions of its author. Text never leaves SQLite as text, since bytes that are no UTF-8
 * end the process in the library: it is fetched as bytes.
 *
 * @throws Refused where the file is no whole database; errors of the file system; SqliteError on damage found later.
 */
export class Database {
  readonly bytes: number;
  readonly #database: Libsql.Database;
  readonly #tables: Map<string, string>;

  private constructor(bytes: number, database: Libsql.Database) {
    this.bytes = bytes;
    this.#database = database;
    try {
      this.#database.exec("PRAGMA query_only = ON; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON");
      this.#tables = this.#plainTables();
    } catch (error) {
      this.#database.close();
      throw error;
    }
  }

  /** The library is native: who reads no database does not load it. */
  static async open(path: string, maxBytes: number): Promise<Database> {
    const bytes = checkHeader(path, maxBytes);
    const { default: Open } = await import("libsql");
    return new Database(bytes, new Open(`${pathToFileURL(path).href}?mode=ro&immutable=1`));
  }

  close(): void {
    this.#database.close();
  }

  prepare(sql: string): Libsql.Statement<unknown[]> {
    return this.#database.prepare(sql).raw();
  }

  rows(sql: string, ...values: (string | bigint)[]): unknown[][] {
    return this.prepare(sql).all(...values) as unknown[][];
  }

  /**
   * A table by its name, with a version suffix or without: the newest that has rows, else the newest; null where there
   * is none that may be read.
   */
  table(name: string): Table | null {
    const versions: { readonly table: Table; readonly version: number }[] = [];
    for (const found of this.#tables.values()) {
      const version = versionOf(found, name);
      const table = version === null ? null : this.#describe(found);
      if (version !== null && table !== null) versions.push({ table, version });
    }
    versions.sort((a, b) => b.version - a.version);
    return (versions.find(({ table }) => this.#hasRows(table)) ?? versions[0])?.table ?? null;
  }

  /** The first table of these names that is there. */
  firstTable(...names: string[]): Table | null {
    for (const name of names) {
      const table = this.table(name);
      if (table !== null) return table;
    }
    return null;
  }

  /** How many rows a table has, as its last row number says; never more than the file can hold. */
  expectedRows(table: Table): number {
    const last = this.rows(`SELECT CAST(max(rowid) AS TEXT) FROM ${quoted(table.name)}`)[0]?.[0];
    if (typeof last !== "string") return 0;
    return Math.max(0, Math.min(Number(last), Math.floor(this.bytes / SHORTEST_ROW)));
  }

  #hasRows(table: Table): boolean {
    return this.rows(`SELECT 1 FROM ${quoted(table.name)} LIMIT 1`).length > 0;
  }

  #plainTables(): Map<string, string> {
    const tables = new Map<string, string>();
    const rows = this.rows(
      `SELECT CAST(name AS BLOB), CAST(substr(sql, 1, 40) AS BLOB), rootpage FROM sqlite_master
       WHERE type = 'table' LIMIT ${MAX_TABLES}`,
    );
    for (const [name, sql, rootPage] of rows) {
      const isPlain = /^CREATE\s+TABLE\b/i.test(textOf(sql) ?? "") && typeof rootPage === "number" && rootPage > 0;
      const text = textOf(name);
      if (isPlain && text !== null && /^\w{1,128}$/.test(text)) tables.set(text.toUpperCase(), text);
    }
    return tables;
  }

  /** False for tables `WITHOUT ROWID`, which nsys does not write. */
  #hasRowNumbers(name: string): boolean {
    try {
      this.prepare(`SELECT rowid FROM ${quoted(name)} LIMIT 0`);
      return true;
    } catch (error) {
      if ((error as { readonly code?: unknown }).code !== "SQLITE_ERROR") throw error;
      return false;
    }
  }

  #describe(name: string): Table | null {
    const columns = new Set<string>();
    const keys: string[] = [];
    for (const [column, type, isKey, hidden] of this.rows(
      "SELECT CAST(name AS BLOB), CAST(type AS BLOB), pk, hidden FROM pragma_table_xinfo(?)",
      name,
    )) {
      const text = textOf(column);
      if (hidden !== 0 || text === null || /^(rowid|oid|_rowid_)$/i.test(text)) return null;
      columns.add(text);
      if (isKey !== 0) keys.push(/^INTEGER$/i.test(textOf(type) ?? "") ? text : "");
    }
    if (!this.#hasRowNumbers(name)) return null;
    return { name, columns, key: keys.length === 1 && keys[0] ? keys[0] : null };
  }
}

/** Bytes as text; what is no UTF-8 becomes U+FFFD. */
export function textOf(value: unknown): string | null {
  if (typeof value === "string") return value;
  return value instanceof Uint8Array ? Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString() : null;
}

function versionOf(found: string, name: string): number | null {
  if (found.toUpperCase() === name) return 1;
  if (!found.toUpperCase().startsWith(name)) return null;
  const suffix = VERSION_SUFFIX.exec(found.slice(name.length));
  return suffix === null || suffix.index !== 0 ? null : Number(suffix[1]);
}

/**
 * Looks at the header before SQLite does: sqlite.org/fileformat2.html, section 1.3.
 *
 * @returns Bytes of the file.
 */
function checkHeader(path: string, maxBytes: number): number {
  const file = openSync(path, "r");
  const header = Buffer.alloc(100);
  let length: number;
  let size: number;
  try {
    length = readSync(file, header, 0, header.length, 0);
    size = fstatSync(file).size;
  } finally {
    closeSync(file);
  }
  if (size > maxBytes) {
    throw new Refused({
      code: "too_large",
      message: `the database has ${size} bytes, more than ${maxBytes}`,
      hint: "record a shorter part of the run, or export only the tables of CUDA and NVTX",
      evidence: { bytes: size, limit: maxBytes },
    });
  }
  if (length < header.length || header.toString("latin1", 0, 16) !== SQLITE_MAGIC) {
    throw new Refused(damaged("it does not begin like an SQLite database", { bytes: size }));
  }
  const pageSize = header.readUInt16BE(16) === 1 ? 65_536 : header.readUInt16BE(16);
  const pages = header.readUInt32BE(28);
  // The count is valid only where the two counters are equal (section 1.3.7).
  const isCounted = header.readUInt32BE(24) === header.readUInt32BE(92);
  if (isCounted && pages * pageSize > size) {
    throw new Refused(
      damaged(`it has ${size} of ${pages * pageSize} bytes`, { bytes: size, expected: pages * pageSize }),
    );
  }
  if (header.readUInt32BE(56) > 1) {
    throw new Refused(damaged("its text is UTF-16, and nsys writes UTF-8", { encoding: header.readUInt32BE(56) }));
  }
  return size;
}

export const damaged = (what: string, evidence: ReadFailure["evidence"] = {}): ReadFailure => ({
  code: "malformed",
  message: `the SQLite export of Nsight Systems is damaged: ${what}`,
  hint: "copy the file again in binary mode, or export it again: nsys export --type sqlite FILE.nsys-rep",
  evidence,
});

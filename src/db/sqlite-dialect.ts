import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from "kysely";
import type Database from "libsql";

type Statement = Database.Statement<unknown[]>;

/** Statements kept prepared: the queries of this project are far fewer. */
const MAX_STATEMENTS = 200;

/**
 * Kysely on one libsql connection. It differs from Kysely's own SqliteDialect in three things: transactions begin
 * `immediate`, so that two processes wait for each other instead of failing when a read turns into a write; whoever
 * waits for the connection gets it in order; statements stay prepared.
 */
export function sqliteDialect(database: Database.Database): Dialect {
  return {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new LibsqlDriver(database),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  };
}

class LibsqlDriver implements Driver {
  readonly #database: Database.Database;
  readonly #connection: LibsqlConnection;
  readonly #waiting: (() => void)[] = [];
  #taken = false;

  constructor(database: Database.Database) {
    this.#database = database;
    this.#connection = new LibsqlConnection(database);
  }

  async init(): Promise<void> {}

  /** One connection: a transaction holds it from begin to commit, so transactions never interleave. */
  async acquireConnection(): Promise<DatabaseConnection> {
    if (this.#taken) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#taken = true;
    return this.#connection;
  }

  async releaseConnection(): Promise<void> {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#taken = false;
  }

  async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw("begin immediate"));
  }

  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw("commit"));
  }

  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    // A full disk makes SQLite roll back by itself; a second rollback would hide the reason.
    if (this.#database.inTransaction) await connection.executeQuery(CompiledQuery.raw("rollback"));
  }

  async destroy(): Promise<void> {
    this.#connection.forget();
    this.#database.close();
  }
}

class LibsqlConnection implements DatabaseConnection {
  readonly #database: Database.Database;
  readonly #statements = new Map<string, Statement>();

  constructor(database: Database.Database) {
    this.#database = database;
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    const parameters = query.parameters.map(bindable);
    const statement = this.#prepare(query.sql);
    if (statement.reader) return { rows: statement.all(parameters) as R[] };
    const { changes } = statement.run(parameters);
    return { numAffectedRows: BigInt(changes), rows: [] };
  }

  // biome-ignore lint/correctness/useYield: streaming is not offered, and says so
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error("queries are not streamed from SQLite");
  }

  forget(): void {
    this.#statements.clear();
  }

  #prepare(sql: string): Statement {
    const known = this.#statements.get(sql);
    if (known) return known;
    const statement = this.#database.prepare(sql);
    if (this.#statements.size >= MAX_STATEMENTS) this.#statements.clear();
    this.#statements.set(sql, statement);
    return statement;
  }
}

/** libsql ends the process on a value it cannot bind (a boolean, say), so nothing else may reach it. */
function bindable(value: unknown): string | number | bigint | null | Uint8Array {
  if (value === null || typeof value === "string" || typeof value === "number" || typeof value === "bigint")
    return value;
  if (value instanceof Uint8Array) return value;
  throw new TypeError(`cannot bind a value of type ${typeof value} to a SQLite statement`);
}

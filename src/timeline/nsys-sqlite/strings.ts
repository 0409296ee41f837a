import { Refused } from "../refused.ts";
import { type Database, quoted, type Table, textOf } from "./database.ts";

/** Bytes of a text that are kept: names of kernels reach some thousand. */
const LONGEST = 65_536;
/** Characters of all texts together. Names of a model's kernels take some hundred thousand. */
const MAX_CHARACTERS = 256 * 1024 ** 2;

/** Texts of `StringIds`, fetched when they are asked for: an export with CPU samples has millions, kernels need some hundred. */
export class Strings {
  readonly #get: ((id: number) => string | null) | null;
  readonly #known = new Map<number, string | null>();
  #characters = 0;

  constructor(database: Database) {
    const table = database.table("STRINGIDS");
    const isUsable = table?.columns.has("id") && table.columns.has("value");
    this.#get = table !== null && isUsable ? lookUp(database, table) : null;
  }

  /** @param id NaN or infinite: there is none. Null: not in the file. */
  get(id: number): string | null {
    const known = this.#known.get(id);
    if (known !== undefined) return known;
    const text = Number.isSafeInteger(id) ? (this.#get?.(id) ?? null) : null;
    this.#characters += text?.length ?? 0;
    if (this.#characters > MAX_CHARACTERS) {
      throw new Refused({
        code: "too_large",
        message: `the names in the file have more than ${MAX_CHARACTERS} characters`,
        hint: "record a shorter part of the run",
        evidence: { limit: MAX_CHARACTERS },
      });
    }
    this.#known.set(id, text);
    return text;
  }
}

function lookUp(database: Database, table: Table): (id: number) => string | null {
  const value = `CAST(substr(CAST(value AS BLOB), 1, ${LONGEST}) AS BLOB)`;
  const from = `FROM ${quoted(table.name)}`;
  if (table.key === "id") {
    const statement = database.prepare(`SELECT ${value} ${from} WHERE id = ?`);
    return (id) => textOf((statement.get(BigInt(id)) as unknown[] | undefined)?.[0]);
  }
  // A copy that lost its key: one scan in place of one for each name.
  let all: Map<number, string> | null = null;
  return (id) => {
    if (all === null) {
      all = new Map();
      let characters = 0;
      for (const [key, bytes] of database
        .prepare(`SELECT id, ${value} ${from} WHERE typeof(id) = 'integer'`)
        .iterate() as Iterable<unknown[]>) {
        const text = textOf(bytes);
        if (text === null) continue;
        characters += text.length;
        if (characters > MAX_CHARACTERS) break;
        all.set(key as number, text);
      }
    }
    return all.get(id) ?? null;
  };
}

import { NONE } from "../../model/timeline.ts";
import { ByteCache } from "./byte-cache.ts";

/** Names of template-heavy libraries reach some thousand characters; what is longer is no name. */
export const LONGEST_NAME = 65_536;

/** Control characters in a name do harm where it is printed; JSON does not allow them bare. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]|\p{Surrogate}/gu;
// biome-ignore lint/suspicious/noControlCharactersInRegex: as above
const NEEDS_DECODING = /[\u0000-\u001f\\\u007f-\u00ff]/;

/**
 * Absolute paths of two parts or more: annotations and operators of generated code carry folders of the machine. Linear:
 * a part and a separator cannot match the same character.
 */
const PATH = /(^|[\s"'`(=,:;|<>[\]{}])((?:[A-Za-z]:|~)?[\\/]{1,2}[\w.@+~-]+(?:[\\/]+[\w.@+~-]+)+[\\/]?)/g;

/** Names of files stay, folders go; a path that ends in no file goes whole, also a home folder named like a file. */
export function withoutPaths(text: string): string {
  if (!text.includes("/") && !text.includes("\\")) return text;
  return text.replace(PATH, (_, before: string, path: string) => {
    const parts = path.split(/[\\/]+/).filter((part) => part !== "" && part !== "~" && !/^[A-Za-z]:$/.test(part));
    const last = parts.at(-1) ?? "";
    const isHome = parts.length === 2 && /^(?:home|users)$/i.test(parts[0] as string);
    return `${before}${!isHome && /\.\w{1,16}$/.test(last) ? last : "[path]"}`;
  });
}

/**
 * The text of a JSON string from its bytes as latin-1, without quotes: escapes and UTF-8 decoded, control characters and
 * halves of characters replaced by U+FFFD, paths taken out. Null where an escape is none.
 */
export function decodeText(raw: string): string | null {
  if (!NEEDS_DECODING.test(raw)) return withoutPaths(raw);
  let text = Buffer.from(raw, "latin1").toString("utf8");
  if (text.includes("\\")) {
    try {
      // Bare control characters are escaped, since JSON.parse refuses them.
      // biome-ignore lint/suspicious/noControlCharactersInRegex: as above
      const escaped = text.replace(/[\u0000-\u001f]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
      text = JSON.parse(`"${escaped}"`) as string;
    } catch {
      return null;
    }
  }
  return withoutPaths(text.replace(CONTROL, "\ufffd"));
}

/** Texts by position, each once. */
export class TextPool {
  readonly items: string[] = [];
  /** Bytes that the texts and their spellings in the file take, roughly. */
  bytes = 0;
  readonly #cache = new ByteCache();
  readonly #byRaw = new Map<string, number>();
  readonly #byText = new Map<string, number>();
  readonly #map: (text: string) => string;

  /** @param map what becomes of a text before it is kept */
  constructor(map: (text: string) => string = (text) => text) {
    this.#map = map;
  }

  /** Position of the text in the bytes [start, end), without quotes; -1 where it cannot be decoded. */
  addBytes(bytes: Buffer, start: number, end: number): number {
    const known = this.#cache.find(bytes, start, end);
    if (known !== NONE) return known;
    const position = this.add(bytes.toString("latin1", start, end));
    if (position >= 0) this.#cache.keep(bytes, start, end, position);
    return position;
  }

  /** Position of the text; -1 where it cannot be decoded. `raw`: see decodeText. */
  add(raw: string): number {
    const known = this.#byRaw.get(raw);
    if (known !== undefined) return known;
    const decoded = decodeText(raw);
    if (decoded === null) return -1;
    const text = this.#map(decoded);
    let position = this.#byText.get(text);
    if (position === undefined) {
      position = this.items.push(text) - 1;
      this.#byText.set(text, position);
      this.bytes += 2 * text.length + 64;
    }
    this.#byRaw.set(raw, position);
    this.bytes += raw.length + 64;
    return position;
  }
}

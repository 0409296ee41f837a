import { StringDecoder } from "node:string_decoder";
import { RE2JS } from "re2js";

/** A line that holds all words of one of these, in any case, tells of JIT compilation or of graph capture. */
const POLLUTING_WORDS: readonly (readonly string[])[] = [
  ["deepgemm"],
  ["deep_gemm"],
  ["compil"],
  ["dynamo bytecode"],
  ["captur", "graph"],
];

export interface SeenPattern {
  readonly pattern: string;
  /** The first line that matched; null: none did. */
  readonly line: string | null;
}

/** Lines that tell of JIT compilation or graph capture. */
export interface Pollution {
  readonly total: number;
  /** The first of them. */
  readonly lines: readonly string[];
}

/** Looks for patterns in the output of a program while it runs. */
export interface LogPatterns {
  /** A sink for the chunks of one stream: lines of two streams must not run into each other. */
  input(): (chunk: Uint8Array | string) => void;
  /** The required patterns, in their order. */
  seen(): SeenPattern[];
  /** Of the patterns that are only noted, those that were seen. */
  noted(): SeenPattern[];
  /** Waits until each required pattern was seen. Rejects with the signal's reason. */
  waitFor(signal: AbortSignal): Promise<void>;
  /** The last lines, an unfinished one included. */
  tail(lines: number): string[];
  /** From here on lines that tell of JIT or graph capture are kept, until the mark is closed. */
  mark(): LogMark;
}

export interface LogMark {
  pollution(): Pollution;
  close(): void;
}

/** Longer lines are cut for matching and in what is kept. */
const MAX_LINE_CHARS = 4096;
const MAX_TAIL_LINES = 200;
const MAX_POLLUTION_LINES = 20;

/** Colours and cursor movements of terminals (ECMA-48 control sequences). */
const TERMINAL = new RegExp(`${String.fromCharCode(27)}\\[[0-?]*[ -/]*[@-~]`, "g");

/**
 * @param required RE2 patterns that compile; found anywhere in a line
 * @param noted patterns that are remembered when seen and never waited for
 */
export function watchLog(required: readonly string[], noted: readonly string[] = []): LogPatterns {
  const lines = new Map<string, string>();
  const open = new Map([...new Set([...required, ...noted])].map((pattern) => [pattern, RE2JS.compile(pattern)]));
  const tail: string[] = [];
  const unfinished = new Set<{ text: string }>();
  const waiting = new Set<() => void>();
  const marks = new Set<{ total: number; lines: string[] }>();

  const isComplete = () => required.every((pattern) => lines.has(pattern));

  const take = (raw: string): void => {
    const line = readable(raw);
    if (line === "") return;
    tail.push(line);
    if (tail.length > MAX_TAIL_LINES) tail.shift();
    for (const [pattern, compiled] of open) {
      if (!compiled.matcher(line).find()) continue;
      lines.set(pattern, line);
      open.delete(pattern);
    }
    if (marks.size > 0 && isPolluting(line)) {
      for (const mark of marks) {
        mark.total++;
        if (mark.lines.length < MAX_POLLUTION_LINES) mark.lines.push(line);
      }
    }
    if (waiting.size > 0 && isComplete()) for (const wake of [...waiting]) wake();
  };

  return {
    input() {
      const decoder = new StringDecoder("utf8");
      const rest = { text: "" };
      unfinished.add(rest);
      return (chunk) => {
        const text = typeof chunk === "string" ? chunk : decoder.write(chunk);
        // Progress bars end their lines with \r.
        const parts = text.split(/[\r\n]/);
        for (const [index, part] of parts.entries()) {
          if (rest.text.length < MAX_LINE_CHARS) rest.text += part.slice(0, MAX_LINE_CHARS - rest.text.length);
          if (index === parts.length - 1) break;
          const line = rest.text;
          rest.text = "";
          take(line);
        }
      };
    },
    seen: () => required.map((pattern) => ({ pattern, line: lines.get(pattern) ?? null })),
    noted: () =>
      noted.flatMap((pattern) => {
        const line = lines.get(pattern);
        return line === undefined ? [] : [{ pattern, line }];
      }),
    waitFor: (signal) =>
      new Promise<void>((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason);
        if (isComplete()) return resolve();
        const end = () => {
          waiting.delete(wake);
          signal.removeEventListener("abort", stop);
        };
        const wake = () => {
          end();
          resolve();
        };
        const stop = () => {
          end();
          reject(signal.reason);
        };
        waiting.add(wake);
        signal.addEventListener("abort", stop);
      }),
    tail(count) {
      const open = [...unfinished].map(({ text }) => readable(text)).filter((text) => text !== "");
      return count <= 0 ? [] : [...tail, ...open].slice(-count);
    },
    mark() {
      const mark = { total: 0, lines: [] as string[] };
      marks.add(mark);
      return {
        pollution: () => ({ total: mark.total, lines: [...mark.lines] }),
        close: () => marks.delete(mark),
      };
    },
  };
}

const readable = (line: string): string => line.replace(TERMINAL, "").trimEnd();

function isPolluting(line: string): boolean {
  const lower = line.toLowerCase();
  return POLLUTING_WORDS.some((words) => words.every((word) => lower.includes(word)));
}

/** What a line of progress says. */
export type LaunchEvent =
  | {
      readonly kind: "launch_started";
      /** As printed: at most 32 characters in most versions, no key. */
      readonly name: string;
      readonly index: number | null;
      readonly done: number | null;
      readonly total: number | null;
    }
  | { readonly kind: "progress"; readonly percent: number }
  /** `complete`: false for a launch that was given up. */
  | {
      readonly kind: "launch_finished";
      readonly name: string;
      readonly passes: number | null;
      readonly complete: boolean;
    };

/** Names of kernels are printed whole where launches are chosen by `--kernel-id`: mangled ones have thousands of letters. */
const HEADER = /==PROF== Profiling "([^\r\n]{1,8192}?)"(?: - (\d{1,9}))?(?: \((\d{1,9})\/(\d{1,9})\))?: /g;
/** The tool prints four dots in front of it; a progress bar of the program does not. */
const DOTTED_HUNDRED = /\.{4}100%/;
const PASSES = / - (\d{1,6}) pass(?:es)?/g;
const PERCENT = /(?:^|[.\s])(0|50|100)%/g;

/** Finds starts and ends of launches in the lines of one stream, as soon as their text is there. */
export class LaunchScanner {
  readonly #tell: (event: LaunchEvent) => void;
  /** Up to here the line was looked at. */
  #cursor = 0;
  #open: string | null = null;
  #sawHundred = false;
  #percent = -1;

  constructor(tell: (event: LaunchEvent) => void) {
    this.#tell = tell;
  }

  /** The launch that has begun and has no end yet. */
  get open(): string | null {
    return this.#open;
  }

  /** Takes the line as far as it is known: the same line may come again, longer. */
  scan(line: string): void {
    for (;;) {
      HEADER.lastIndex = this.#cursor;
      const header = HEADER.exec(line);
      if (this.#open !== null) {
        const body = line.slice(this.#cursor, header?.index);
        this.#progress(body);
        const end = endOf(body, this.#sawHundred);
        if (end !== null) {
          this.#finish(end.passes, this.#sawHundred || end.hundred);
          this.#cursor += end.length;
          continue;
        }
        if (header === null) return;
        // The next one begins, so this one was given up.
        this.#finish(null, false);
      }
      if (header === null) return;
      const [, name = "", index, done, total] = header;
      this.#open = name;
      this.#sawHundred = false;
      this.#percent = -1;
      this.#cursor = header.index + header[0].length;
      this.#tell({ kind: "launch_started", name, index: number(index), done: number(done), total: number(total) });
    }
  }

  nextLine(): void {
    this.#cursor = 0;
  }

  /** So many characters were taken off the front of the line; what is left begins a message at `marker`, or -1. */
  cut(removed: number, marker: number): void {
    const cursor = Math.max(0, this.#cursor - removed);
    this.#cursor = marker >= 0 ? Math.min(cursor, marker) : cursor;
  }

  /** The tool says that the launch failed. */
  giveUp(): void {
    if (this.#open !== null) this.#finish(null, false);
  }

  #progress(body: string): void {
    if (!this.#sawHundred && DOTTED_HUNDRED.test(body)) this.#sawHundred = true;
    const percent = Number([...body.matchAll(PERCENT)].at(-1)?.[1] ?? -1);
    if (percent <= this.#percent) return;
    this.#percent = percent;
    this.#tell({ kind: "progress", percent });
  }

  #finish(passes: number | null, complete: boolean): void {
    const name = this.#open ?? "";
    this.#open = null;
    this.#tell({ kind: "launch_finished", name, passes, complete });
  }
}

const number = (text: string | undefined): number | null => (text === undefined ? null : Number(text));

/**
 * The count of passes that ends a launch: behind `100%`, at the start of a line, or behind the dots; anywhere once 100 %
 * was reached, since text of the program may stand between. Lines of the program that happen to end so do not count.
 */
function endOf(body: string, sawHundred: boolean): { passes: number; length: number; hundred: boolean } | null {
  for (const match of body.matchAll(PASSES)) {
    const before = body.slice(0, match.index);
    const hundred = before.endsWith("100%");
    if (!hundred && !sawHundred && before !== "" && !/[.%]$/.test(before)) continue;
    return { passes: Number(match[1]), length: match.index + match[0].length, hundred };
  }
  return null;
}

import type { Writable } from "node:stream";
import { stageOf } from "../../src/analysis/stages/index.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { terminalSafe, write } from "../output.ts";

/** More of a line is not kept; no kernel name is longer. */
const LONGEST_LINE = 65_536;

/**
 * Reads kernel names, one a line, and prints a JSON line for each: `{name, stage, family, rule, confidence}`. Empty lines
 * are left out. Streams: any number of names needs the memory of one chunk and one line. Of a line beyond 65,536
 * characters the beginning is taken, and stderr says so at the end.
 * @returns the exit code.
 */
export async function stagesCommand(input: AsyncIterable<Uint8Array>, output: Writable): Promise<ExitCode> {
  let cut = 0;
  for await (const lines of linesOf(input)) {
    const batch: string[] = [];
    for (const { text, isCut } of lines) {
      const name = text.trim();
      if (name === "") continue;
      if (isCut) cut += 1;
      const { stage, family, rule, confidence } = stageOf(name);
      batch.push(
        `{"name":${quoted(name)},"stage":"${stage}","family":"${family}","rule":"${rule}","confidence":${confidence}}`,
      );
    }
    if (batch.length === 0) continue;
    batch.push("");
    await write(output, batch.join("\n"));
  }
  if (cut > 0) {
    process.stderr.write(
      `profile-kernel: warning: ${cut} ${cut === 1 ? "line is" : "lines are"} longer than ${LONGEST_LINE} characters: the beginning was taken\n`,
    );
  }
  return EXIT.ok;
}

/** Characters that JSON and terminals take as they are: nearly all names, which `JSON.stringify` would take longer over. */
const PLAIN = /^[ !#-[\]-~]*$/;

const quoted = (name: string): string => (PLAIN.test(name) ? `"${name}"` : terminalSafe(JSON.stringify(name)));

interface Line {
  readonly text: string;
  readonly isCut: boolean;
}

/** The lines that end in each chunk; the last one may end with the input. */
async function* linesOf(input: AsyncIterable<Uint8Array>): AsyncGenerator<readonly Line[]> {
  const decoder = new TextDecoder();
  let line = "";
  let isCut = false;
  const add = (piece: string): void => {
    if (line.length + piece.length > LONGEST_LINE) isCut = true;
    line += piece.slice(0, LONGEST_LINE - line.length);
  };
  for await (const chunk of input) {
    const lines: Line[] = [];
    for (const [index, piece] of decoder.decode(chunk, { stream: true }).split("\n").entries()) {
      if (index > 0) {
        lines.push({ text: line, isCut });
        line = "";
        isCut = false;
      }
      add(piece);
    }
    yield lines;
  }
  add(decoder.decode());
  yield [{ text: line, isCut }];
}

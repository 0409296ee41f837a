import type { Writable } from "node:stream";
import { stageOf } from "../../src/analysis/stages/index.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { jsonText, write } from "../output.ts";

/** More of a line is not kept; no kernel name is longer. */
const LONGEST_LINE = 65_536;
/** Characters of output that are written at once. */
const BATCH = 65_536;

/**
 * Reads kernel names, one a line, and prints a JSON line for each: `{name, stage, family, rule, confidence}`. Empty lines
 * are left out. Streams: any number of names needs the memory of one line. Of a line beyond 65,536 characters the beginning
 * is taken, and stderr says so at the end.
 * @returns the exit code.
 */
export async function stagesCommand(input: AsyncIterable<Uint8Array>, output: Writable): Promise<ExitCode> {
  let batch = "";
  let cut = 0;
  for await (const { text, isCut } of linesOf(input)) {
    const name = text.trim();
    if (name === "") continue;
    if (isCut) cut += 1;
    const { stage, family, rule, confidence } = stageOf(name);
    batch += jsonText({ name, stage, family, rule, confidence }, "line");
    if (batch.length < BATCH) continue;
    await write(output, batch);
    batch = "";
  }
  if (batch !== "") await write(output, batch);
  if (cut > 0) {
    process.stderr.write(
      `profile-kernel: warning: ${cut} ${cut === 1 ? "line is" : "lines are"} longer than ${LONGEST_LINE} characters: the beginning was taken\n`,
    );
  }
  return EXIT.ok;
}

async function* linesOf(input: AsyncIterable<Uint8Array>): AsyncGenerator<{ text: string; isCut: boolean }> {
  const decoder = new TextDecoder();
  let line = "";
  let isCut = false;
  const add = (piece: string): void => {
    if (line.length + piece.length > LONGEST_LINE) isCut = true;
    line += piece.slice(0, LONGEST_LINE - line.length);
  };
  for await (const chunk of input) {
    const pieces = decoder.decode(chunk, { stream: true }).split("\n");
    for (const [index, piece] of pieces.entries()) {
      if (index > 0) {
        yield { text: line, isCut };
        line = "";
        isCut = false;
      }
      add(piece);
    }
  }
  add(decoder.decode());
  yield { text: line, isCut };
}

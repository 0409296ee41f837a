import { createReadStream } from "node:fs";
import { type FileHandle, mkdtemp, open, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import type { OpenBytes } from "../src/base/bytes.ts";
import { openFile } from "../src/base/file-source.ts";
import { EXIT } from "./exit-codes.ts";
import { CommandFailure } from "./failure.ts";
import { keepInput, mostKept } from "./kept-input.ts";

/** One report to read. */
export interface Input {
  /** As the user named it; `-` is `stdin`. */
  readonly name: string;
  readonly open: OpenBytes;
  /** Where the bytes lie. */
  readonly path: string;
  /** SHA-256 of the bytes as they lie there, before any decompression. */
  sha256(): Promise<string>;
}

/** Inputs that can be read as often as it takes, until `release`. */
export interface Inputs {
  readonly items: readonly Input[];
  release(): Promise<void>;
}

/**
 * Opens what the user named. Readers go over a report more than once, so what is no regular file (stdin as `-`, a pipe)
 * is kept on disk meanwhile, up to a limit.
 * @throws CommandFailure with exit code 3 for what cannot be opened, 2 for `-` or a file given twice.
 */
export async function openInputs(names: readonly string[], stdin: Readable): Promise<Inputs> {
  if (names.filter((name) => name === "-").length > 1) {
    throw new CommandFailure(EXIT.usage, {
      code: "stdin_twice",
      message: "`-` was given more than once",
      hint: "Standard input holds one report: give `-` once, and the other reports by name.",
    });
  }
  const kept: FileHandle[] = [];
  const release = async (): Promise<void> => {
    await Promise.all(kept.map((handle) => handle.close()));
  };
  const keep = async (name: string, source: () => Readable): Promise<string> => {
    const handle = await namelessFile();
    kept.push(handle);
    // Opened only now: an error before somebody listens would end the process.
    await keepInput(name, source(), handle, await mostKept());
    return `/dev/fd/${handle.fd}`;
  };
  try {
    const items: Input[] = [];
    const seen = new Map<string, string>();
    for (const name of names) items.push(await openInput(name, stdin, keep, seen));
    return { items, release };
  } catch (error) {
    await release();
    throw error;
  }
}

/** A temporary file that has lost its name before the first byte: however this process ends, nothing is left behind. */
async function namelessFile(): Promise<FileHandle> {
  const folder = await mkdtemp(join(tmpdir(), "profile-kernel-"));
  try {
    return await open(join(folder, "input"), "wx+", 0o600);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

type Keep = (name: string, source: () => Readable) => Promise<string>;

async function openInput(name: string, stdin: Readable, keep: Keep, seen: Map<string, string>): Promise<Input> {
  if (name === "-") return fileInput("stdin", await keep("stdin", () => stdin));
  try {
    const kind = await stat(name, { bigint: true });
    if (kind.isDirectory()) {
      throw new CommandFailure(EXIT.unreadable, {
        code: "not_a_file",
        message: `${name} is a folder; expected a report`,
        hint: "Name the report itself: a .ncu-rep file, or a CSV page of `ncu --import`.",
        evidence: { file: name },
      });
    }
    const identity = `${kind.dev} ${kind.ino}`;
    const earlier = seen.get(identity);
    if (earlier !== undefined) throw givenTwice(name, earlier);
    seen.set(identity, name);
    return fileInput(name, kind.isFile() ? name : await keep(name, () => createReadStream(name)));
  } catch (error) {
    throw fileFailure(name, error);
  }
}

const givenTwice = (name: string, earlier: string): CommandFailure =>
  new CommandFailure(EXIT.usage, {
    code: "file_twice",
    message: name === earlier ? `${name} was given twice` : `${name} is the same file as ${earlier}`,
    hint: "Name each report once: its launches would be counted twice.",
    evidence: { file: name, same_as: earlier },
  });

const fileInput = (name: string, path: string): Input => ({
  name,
  open: openFile(path),
  path,
  sha256: async () => (await import("./file-hash.ts")).sha256OfFile(path),
});

const REASONS: Readonly<Record<string, readonly [string, string]>> = {
  ENOENT: ["does not exist", "Check the path."],
  EACCES: ["may not be read", "Check its permissions: ncu under sudo writes files of root."],
  EPERM: ["may not be read", "Check its permissions: ncu under sudo writes files of root."],
};

/** A file-system error as a failure with exit code 3; everything else stays what it is. */
export function fileFailure(name: string, error: unknown): unknown {
  const code = error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : null;
  if (code === null || error instanceof CommandFailure) return error;
  const [what, hint] = REASONS[code] ?? [`cannot be read (${code})`, "Copy it to a local disk and try again."];
  return new CommandFailure(EXIT.unreadable, {
    code: code === "ENOENT" ? "file_not_found" : "file_unreadable",
    message: `${name} ${what}`,
    hint,
    evidence: { file: name, errno: code },
  });
}

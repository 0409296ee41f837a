import { createReadStream } from "node:fs";
import { type FileHandle, mkdtemp, open, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import type { OpenBytes } from "../src/base/bytes.ts";
import { openFile } from "../src/base/file-source.ts";
import { EXIT } from "./exit-codes.ts";
import { CommandFailure } from "./failure.ts";

/** One report to read. */
export interface Input {
  /** As the user named it; `-` is `stdin`. */
  readonly name: string;
  readonly open: OpenBytes;
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
 * is kept on disk meanwhile.
 * @throws CommandFailure with exit code 3 for what cannot be opened, 2 for `-` given twice.
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
  const keep = async (source: () => Readable): Promise<string> => {
    const handle = await namelessFile();
    kept.push(handle);
    // Opened only now: an error before somebody listens would end the process.
    await writeFile(handle, source());
    return `/dev/fd/${handle.fd}`;
  };
  try {
    const items: Input[] = [];
    for (const name of names) items.push(await openInput(name, stdin, keep));
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

async function openInput(
  name: string,
  stdin: Readable,
  keep: (source: () => Readable) => Promise<string>,
): Promise<Input> {
  if (name === "-") return fileInput("stdin", await keep(() => stdin));
  try {
    const kind = await stat(name);
    if (kind.isDirectory()) {
      throw new CommandFailure(EXIT.unreadable, {
        code: "not_a_file",
        message: `${name} is a folder; expected a report`,
        hint: "Name the report itself: a .ncu-rep file, or a CSV page of `ncu --import`.",
        evidence: { file: name },
      });
    }
    return fileInput(name, kind.isFile() ? name : await keep(() => createReadStream(name)));
  } catch (error) {
    throw fileFailure(name, error);
  }
}

const fileInput = (name: string, path: string): Input => ({
  name,
  open: openFile(path),
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

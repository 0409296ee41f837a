import { readdir, readFile } from "node:fs/promises";

/** Processes of a session: the program's group and all that did not leave it (proc(5): field 6 of stat is the session). */
export async function sessionPids(session: number): Promise<number[]> {
  const names = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const stats = await Promise.all(names.map((name) => readFile(`/proc/${name}/stat`, "latin1").catch(() => "")));
  return stats.flatMap((text, position) => {
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return Number(fields[3]) === session ? [Number(names[position])] : [];
  });
}

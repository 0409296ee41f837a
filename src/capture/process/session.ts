import { readFileSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";

/** Processes of a session: the program's group and all that did not leave it. */
export async function sessionPids(session: number): Promise<number[]> {
  const names = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const stats = await Promise.all(names.map((name) => readFile(`/proc/${name}/stat`, "latin1").catch(() => "")));
  return stats.flatMap((text, position) => (sessionIn(text) === session ? [Number(names[position])] : []));
}

/** Session of a process; null: there is no such process any more. */
export function sessionOf(pid: number): number | null {
  try {
    return sessionIn(readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch {
    return null;
  }
}

/** proc(5): field 6 of stat; field 2 may hold blanks and parentheses. */
function sessionIn(stat: string): number {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return Number(fields[3]);
}

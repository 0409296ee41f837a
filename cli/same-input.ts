import type { Finding } from "../src/model/finding.ts";
import type { Input } from "./inputs.ts";

/** Compared at both ends before two files are worth reading whole. */
const END_BYTES = 64 * 1024;

/**
 * For each input the name of an earlier one with the same bytes, or null. Only files of one size with equal ends are
 * hashed: reports of two runs differ there.
 */
export async function repeatedInputs(items: readonly Input[]): Promise<(string | null)[]> {
  if (items.length < 2) return items.map(() => null);
  const ends = await Promise.all(items.map(endsOf));
  const repeated: (string | null)[] = [];
  for (const [index, item] of items.entries()) {
    let earlier: string | null = null;
    for (let at = 0; at < index && earlier === null; at += 1) {
      const other = items[at];
      if (other === undefined || ends[at] !== ends[index]) continue;
      if ((await other.sha256()) === (await item.sha256())) earlier = other.name;
    }
    repeated.push(earlier);
  }
  return repeated;
}

/** Size, first and last bytes as one text. */
async function endsOf({ open }: Input): Promise<string> {
  const source = await open();
  try {
    const first = Buffer.from(await source.read(END_BYTES)).toString("latin1");
    await source.skip(Math.max(0, (source.size ?? 0) - source.position - END_BYTES));
    const last = Buffer.from(await source.read(END_BYTES)).toString("latin1");
    return `${source.size} ${first} ${last}`;
  } finally {
    await source.close();
  }
}

/** What is said where two inputs hold the same report. */
export const repeatedFinding = (name: string, earlier: string): Finding => ({
  code: "report_repeated",
  severity: "warning",
  message: `${name} holds the same bytes as ${earlier}: every launch in it is counted twice`,
  launch: null,
  evidence: { file: name, same_as: earlier },
});

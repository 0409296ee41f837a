/**
 * Reads bytes that nobody should trust, in a process of its own: a crash, a hang and the memory are those of the reader
 * alone. Arguments: mutations FILE FIRST COUNT | wrapped FILE FIRST COUNT | cuts FILE COUNT | one FILE. Messages: a number before each case (the
 * parent's watchdog), at the end {problems, peakMb, refused, read}.
 */
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import type { OpenBytes } from "../../src/base/bytes.ts";
import { openBuffer, openFile } from "../../src/base/file-source.ts";
import type { Report } from "../../src/model/report.ts";
import { readExtras, readReport } from "../../src/report/detect.ts";
import { integrityProblems } from "./integrity.ts";
import { blocksOf } from "./layout.ts";
import { Mutator, random } from "./mutate.ts";
import { openParts } from "./parts.ts";

export interface HostileResult {
  readonly problems: string[];
  readonly refused: number;
  readonly read: number;
  /** Reports with fewer launches than their bytes hold and no finding that says why. */
  readonly silent: string[];
  readonly peakMb: number;
  readonly slowestMs: number;
  /** How the last case ended. */
  readonly last: string;
}

const CODES = ["empty", "unknown_format", "wrong_kind", "no_kernels", "malformed", "too_large", "unsupported_version"];
const problems: string[] = [];
const silent: string[] = [];
const tally = { refused: 0, read: 0, slowestMs: 0, last: "" };

/**
 * Peak memory of this process. On Linux from the kernel's count for its address space: `maxRSS` of a forked process
 * starts with what its parent had.
 */
function peakMb(): number {
  if (process.platform !== "linux") return process.resourceUsage().maxRSS / 1024;
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1]) / 1024;
}

const load = (path: string): Buffer => {
  const bytes = readFileSync(path);
  return path.endsWith(".gz") ? gunzipSync(bytes) : bytes;
};

/** Reads once; everything that must not happen goes to `problems`. Null where the bytes were refused. */
async function attempt(label: string, open: OpenBytes): Promise<Report | null> {
  process.send?.(label);
  const started = performance.now();
  try {
    const result = await readReport(open);
    if (!result.ok) {
      tally.refused += 1;
      tally.last = `${result.error.code}: ${result.error.message}`;
      const { code, message, hint } = result.error;
      if (!CODES.includes(code) || message === "" || hint === "")
        problems.push(`${label}: refused with ${code} ${message}`);
      return null;
    }
    tally.read += 1;
    tally.last = `${result.value.launches.length} launches, ${result.value.findings.map(({ code }) => code).join(" ")}`;
    problems.push(...integrityProblems(result.value).map((problem) => `${label}: ${problem}`));
    return result.value;
  } catch (error) {
    problems.push(`${label}: ${error instanceof Error ? error.stack : String(error)}`);
    return null;
  } finally {
    tally.slowestMs = Math.max(tally.slowestMs, performance.now() - started);
  }
}

/** Looking at instances and rules of the last launch may be refused, and may not throw. */
async function attemptExtras(label: string, open: OpenBytes, report: Report): Promise<void> {
  const last = report.launches.at(-1);
  const metric = last === undefined ? undefined : [...last.metrics.names()].at(-1);
  try {
    const extras = await readExtras(open, last?.index ?? 0, metric);
    if (!extras.ok && !CODES.includes(extras.error.code))
      problems.push(`${label}: extras refused with ${extras.error.code}`);
  } catch (error) {
    problems.push(`${label}: extras: ${error instanceof Error ? error.stack : String(error)}`);
  }
}

async function mutations(path: string, first: number, count: number): Promise<void> {
  const bytes = load(path);
  const mutator = new Mutator(bytes);
  const whole = (await attempt("whole", openBuffer(bytes)))?.launches.length ?? 0;
  for (let seed = first; seed < first + count; seed += 1) {
    const { kind, parts, launches } = mutator.mutate(seed);
    const label = `${path} seed ${seed} (${kind})`;
    const report = await attempt(label, openParts(parts));
    if (report !== null && seed % 8 === 0) await attemptExtras(label, openParts(parts), report);
    mutator.restore();
    if (report === null) continue;
    if (report.findings.length === 0 && report.launches.length < (launches ?? whole)) {
      silent.push(label);
      if (launches !== null)
        problems.push(`${label}: ${report.launches.length} of ${launches} launches and no finding`);
    }
  }
}

/** A cut report gives exactly the launches of its complete blocks, equal to those of the whole report. */
async function cuts(path: string, count: number): Promise<void> {
  const bytes = load(path);
  const blocks = blocksOf(bytes);
  const whole = await attempt("whole", openBuffer(bytes));
  const shown = whole?.launches.map(({ names, grid, metrics }) =>
    [names.display, grid, metrics.number("gpu__time_duration.sum")].join(),
  );
  for (let cut = 0; cut < count; cut += 1) {
    const length = Math.floor((bytes.length * (cut + 0.5)) / count);
    const label = `${path} cut at ${length}`;
    const report = await attempt(label, openBuffer(bytes.subarray(0, length)));
    const complete = blocks.filter(({ end }) => end <= length);
    const launches = complete.reduce((sum, { results }) => sum + results, 0);
    if (report === null) {
      if (launches > 0) problems.push(`${label}: refused (${tally.last}) with ${launches} complete launches`);
      continue;
    }
    const at = complete.at(-1)?.end ?? 10;
    const partialAt = at === length ? null : at;
    const got = report.launches.map(({ names, grid, metrics }) =>
      [names.display, grid, metrics.number("gpu__time_duration.sum")].join(),
    );
    if (got.join("|") !== shown?.slice(0, launches).join("|"))
      problems.push(`${label}: ${got.length} launches, not ${launches}`);
    if (report.partial_at_byte !== partialAt)
      problems.push(`${label}: partial at ${report.partial_at_byte}, not ${partialAt}`);
  }
}

/** Damage inside compressed data: changed bytes, cuts, zeros. */
async function wrapped(path: string, first: number, count: number): Promise<void> {
  const bytes = readFileSync(path);
  for (let seed = first; seed < first + count; seed += 1) {
    const next = random(seed);
    const below = (limit: number): number => Math.floor(next() * limit);
    const mutated = Buffer.from(bytes);
    for (let changes = 1 + below(6); changes > 0; changes -= 1) {
      const at = below(next() < 0.3 ? 64 : mutated.length);
      mutated[at] = next() < 0.5 ? (mutated[at] ?? 0) ^ (1 << below(8)) : below(256);
    }
    const length = next() < 0.2 ? below(mutated.length) : mutated.length;
    await attempt(`${path} seed ${seed}`, openBuffer(mutated.subarray(0, length)));
  }
}

const [mode, path = "", first = "0", count = "0"] = process.argv.slice(2);
if (mode === "mutations") await mutations(path, Number(first), Number(count));
else if (mode === "wrapped") await wrapped(path, Number(first), Number(count));
else if (mode === "cuts") await cuts(path, Number(first));
else await attempt(path, openFile(path));
const result: HostileResult = {
  ...tally,
  silent,
  problems: problems.slice(0, 20),
  peakMb: peakMb(),
};
process.send?.(result, () => process.disconnect());

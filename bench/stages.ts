/**
 * How many kernel names a second get a stage: `npm run bench:stages`. Beside it, in the same process and alternating, the
 * same names against a plain list of 20 patterns, the way that public labellers work (first hit wins): the ratio holds on
 * any machine. Names are those of the catalogue of the tests, each time as a new string; nothing is remembered between
 * them. Median and best of 40 rounds.
 */
import { readFileSync } from "node:fs";
import { stageOf } from "../src/analysis/stages/index.ts";

const ROUNDS = 40;
const REPEATS = 20;
const WANTED_PER_S = 200_000;

const PLAIN: readonly RegExp[] = [
  /nccl|all_?reduce|cross_device/i,
  /fused_moe|moe|expert/i,
  /flash|attn|attention|fmha/i,
  /gemm|nvjet|cutlass|Cijk|matmul/i,
  /rms_?norm|layer_?norm|Norm/,
  /rotary|rope/i,
  /top_?k/i,
  /softmax/i,
  /silu|gelu|act_and_mul/i,
  /quant/i,
  /mla/,
  /dispatch/,
  /combine/,
  /sampl/i,
  /embedding|gather/i,
  /kv_?cache/i,
  /triton_/,
  /copy|cat/i,
  /reduce/i,
  /elementwise/,
];

function plain(name: string): number {
  for (const [index, pattern] of PLAIN.entries()) if (pattern.test(name)) return index;
  return -1;
}

const file = readFileSync(new URL("../test/fixtures/kernel-stages.tsv", import.meta.url), "utf8");
const rows = file.split("\n").slice(1, -1);
/** Flat strings of their own, as a parser of a file makes them. */
const namesAnew = (): string[] => rows.map((row) => Buffer.from(row.slice(0, row.indexOf("\t"))).toString());

let kept = 0;
function nanosecondsPerName(label: (name: string) => unknown): number {
  const names = Array.from({ length: REPEATS }, namesAnew).flat();
  const start = process.hrtime.bigint();
  for (const name of names) if (label(name) !== null) kept += 1;
  return Number(process.hrtime.bigint() - start) / names.length;
}

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
const perSecond = (nanoseconds: number): string => `${Math.round(1e6 / nanoseconds)},000 names/s`;

const ours: number[] = [];
const theirs: number[] = [];
for (let round = 0; round < ROUNDS; round += 1) {
  ours.push(nanosecondsPerName(stageOf));
  theirs.push(nanosecondsPerName(plain));
}
const characters = rows.reduce((sum, row) => sum + row.indexOf("\t"), 0) / rows.length;
console.log(`${rows.length} names of ${characters.toFixed(0)} characters on average, ${kept} labels`);
console.log(`  stageOf               median ${perSecond(median(ours))}, best ${perSecond(Math.min(...ours))}`);
console.log(`  20 patterns in order  median ${perSecond(median(theirs))}, best ${perSecond(Math.min(...theirs))}`);
console.log(`  ratio of the medians  ${(median(ours) / median(theirs)).toFixed(2)}`);
const best = 1e9 / Math.min(...ours);
console.log(`  at least ${WANTED_PER_S} names/s: ${best >= WANTED_PER_S ? "yes" : "no"}`);
process.exitCode = best >= WANTED_PER_S ? 0 : 1;

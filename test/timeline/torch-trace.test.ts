import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "libsql";
import { expect, test } from "vitest";
import { nameKey } from "../../src/analysis/names.ts";
import { GPU_ROW_KINDS, NONE } from "../../src/model/timeline.ts";
import { fixture } from "../helpers/fixtures.ts";
import { readBytes } from "./torch-build.ts";

const trace = fixture("timelines/h200-pipeline.torch-trace.json.gz");
const result = await readBytes(trace);
if (!result.ok) throw new Error(result.error.message);
const timeline = result.value;
const { rows, recording } = timeline;

test("the sums of the recording are exact", () => {
  const sums: Record<string, { count: number; ns: number }> = {};
  for (let at = 0; at < rows.count; at++) {
    const kind = GPU_ROW_KINDS[rows.kind[at]!]!;
    const { count, ns } = sums[kind] ?? { count: 0, ns: 0 };
    sums[kind] = { count: count + 1, ns: ns + rows.end_ns[at]! - rows.start_ns[at]! };
  }
  expect(sums).toStrictEqual({
    kernel: { count: 3892, ns: 39_071_313 },
    memcpy: { count: 156, ns: 908_093 },
    memset: { count: 89, ns: 77_505 },
  });
  expect(Math.max(...rows.end_ns) - rows.start_ns[0]!).toBe(598_017_407);
  expect(timeline.names.filter(({ display }) => !display.startsWith("[CUDA"))).toHaveLength(79);
});

test("rows are in order, and every place in a list is one", () => {
  for (let at = 1; at < rows.count; at++) expect(rows.start_ns[at]!).toBeGreaterThanOrEqual(rows.start_ns[at - 1]!);
  const within = (column: Uint32Array, list: readonly unknown[]): boolean =>
    column.every((position) => position === NONE || position < list.length);
  expect(within(rows.name, timeline.names)).toBe(true);
  expect(within(rows.lane, timeline.lanes)).toBe(true);
  expect(within(rows.shape, timeline.shapes)).toBe(true);
  expect(within(rows.thread, timeline.threads)).toBe(true);
  expect(within(rows.op, timeline.texts)).toBe(true);
  expect(within(timeline.calls.text, timeline.texts)).toBe(true);
});

test("every row has its call and its operator", () => {
  expect(rows.call_ns.some(Number.isNaN)).toBe(false);
  expect(rows.op.includes(NONE)).toBe(false);
  for (let at = 0; at < rows.count; at++) expect(rows.call_ns[at]!).toBeLessThanOrEqual(rows.start_ns[at]!);
  expect(recording).toMatchObject({
    has_kernel_table: true,
    launch_calls: 3892,
    launch_calls_without_row: 0,
    kernels_without_call: 0,
    graph_launch_calls: 0,
    stream_capture_calls: 0,
    shared_correlations: 0,
    dropped: [],
  });
  expect(timeline.calls.count).toBe(4962 + 366);
});

test("what stands beside the events", () => {
  expect(timeline).toMatchObject({
    format: "torch-trace",
    bytes_read: trace.length,
    schema_version: "1",
    cuda_version: "13.0",
    tick_ns: 1,
    has_starts: true,
    world_size: null,
    sums: null,
    lanes: [{ process: null, rank: null, device: 0, stream: "7" }],
    gpus: [{ index: 0, name: "NVIDIA H200", compute_capability: "9.0", sm_count: 132, memory_bytes: 150_109_880_320 }],
  });
  // The zero is the first call in the file, of which times are read: 5231749828954.112 µs behind the base.
  expect(timeline.zero_unix_ns).toBe(1_790_857_026_000_000_000n + 5_231_749_828_954_112n);
});

test("a symbol that Kineto left mangled is known as such", () => {
  const mangled = timeline.names.filter((names) => names.mangled !== null);
  expect(mangled).toHaveLength(2);
  expect(mangled.every(({ mangled, demangled, display }) => demangled === null && display === mangled)).toBe(true);
});

test("nothing that tells of the machine gets out", () => {
  const text = JSON.stringify({ ...timeline, rows: null, calls: null, ranges: null }, (_, value) =>
    typeof value === "bigint" ? String(value) : value,
  );
  for (const secret of ["19D53FD638C54349B94D86D63E58510C", "/opt/trace.json", "trace_id", "traceName"]) {
    expect(text).not.toContain(secret);
  }
});

/** Text without what stands in parentheses, at any depth, but `(anonymous namespace)`. */
function withoutParentheses(text: string): string {
  let [depth, kept] = [0, ""];
  for (const character of text.replaceAll("(anonymous namespace)", "<unnamed>")) {
    if (character === "(") depth++;
    if (depth === 0) kept += character;
    if (character === ")") depth--;
  }
  return kept;
}

/**
 * One spelling for nvcc's demangler (nsys) and the one of the C++ library (torch): `[lambda(int) (instance 1)]` is
 * `{lambda(int)#1}`; nvcc names return types of inner templates and writes `T1` for types of parameters.
 */
const spelling = (key: string): string =>
  withoutParentheses(
    key
      .replace(/\[lambda(\([^[\]]*?\)) \(instance (\d+)\)\]/g, "{lambda$1#$2}")
      .replaceAll("operator ()", "operator()"),
  ).replace(/\b(?:void|bool) (?=\w|<)/g, "");

test("launches of every kernel are those of the nsys export of the same program", () => {
  const folder = mkdtempSync(join(tmpdir(), "torch-trace-"));
  try {
    const file = join(folder, "nsys.sqlite");
    writeFileSync(file, fixture("timelines/h200-pipeline.nsys.sqlite.gz"));
    const database = new Database(file, { readonly: true });
    const exported = database
      .prepare(
        `SELECT d.value AS demangled, m.value AS mangled, count(*) AS launches FROM CUPTI_ACTIVITY_KIND_KERNEL k
         JOIN StringIds d ON d.id = k.demangledName LEFT JOIN StringIds m ON m.id = k.mangledName GROUP BY 1, 2`,
      )
      .all() as { demangled: string; mangled: string | null; launches: number }[];
    database.close();
    const demangledKey = (demangled: string): string =>
      spelling(nameKey({ mangled: null, function: null, demangled, display: demangled, simplified: false }).key);
    const byMangled = new Map(exported.map(({ mangled, demangled }) => [mangled, demangledKey(demangled)]));
    const nsys: Record<string, number> = {};
    for (const { demangled, launches } of exported) {
      const key = demangledKey(demangled);
      nsys[key] = (nsys[key] ?? 0) + launches;
    }
    const torch: Record<string, number> = {};
    for (let at = 0; at < rows.count; at++) {
      if (GPU_ROW_KINDS[rows.kind[at]!] !== "kernel") continue;
      const names = timeline.names[rows.name[at]!]!;
      const key = names.mangled === null ? spelling(nameKey(names).key) : byMangled.get(names.mangled)!;
      torch[key] = (torch[key] ?? 0) + 1;
    }
    expect(torch).toStrictEqual(nsys);
    expect(Object.keys(torch)).toHaveLength(79);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

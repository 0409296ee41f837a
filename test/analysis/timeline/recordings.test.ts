import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { splitCollectives } from "../../../src/analysis/timeline/collectives.ts";
import { judgeTimeline } from "../../../src/analysis/timeline/judge.ts";
import { rankTimeline } from "../../../src/analysis/timeline/rank.ts";
import type { TimelineRanking } from "../../../src/analysis/timeline/ranking.ts";
import { timesOf } from "../../../src/analysis/timeline/times.ts";
import { openBuffer } from "../../../src/base/file-source.ts";
import { DEFAULT_TIMELINE_LIMITS, type Timeline } from "../../../src/model/timeline.ts";
import { readNsysSqlite } from "../../../src/timeline/nsys-sqlite/index.ts";
import { readNsysStats } from "../../../src/timeline/nsys-stats/index.ts";
import { readTorchTrace } from "../../../src/timeline/torch-trace/index.ts";
import { fixturePath, samplesDir } from "../../helpers/fixtures.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "timelines-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Reads an export of nsys, what nsys stats printed, or a trace of torch. */
async function timelineOf(path: string): Promise<Timeline> {
  const file = readFileSync(path);
  const bytes = path.endsWith(".gz") ? gunzipSync(file) : file;
  let result: Awaited<ReturnType<typeof readNsysSqlite>>;
  if (path.endsWith(".sqlite.gz")) {
    const database = join(folder, `${path.split("/").at(-1)}.sqlite`);
    writeFileSync(database, bytes);
    result = await readNsysSqlite(database, "gzip", DEFAULT_TIMELINE_LIMITS);
  } else {
    const read = path.includes(".json") ? readTorchTrace : readNsysStats;
    result = await read(openBuffer(bytes), "gzip", DEFAULT_TIMELINE_LIMITS);
  }
  if (!result.ok) throw new Error(result.error.message);
  return result.value;
}

function rank(...timelines: Timeline[]): TimelineRanking {
  const result = rankTimeline(timelines);
  if (!result.ok) throw new Error(`${result.error.code}: ${result.error.message}`);
  return result.value;
}

const own = (name: string): Promise<Timeline> => timelineOf(fixturePath(`timelines/${name}`));
const sumOf = (list: readonly { readonly count: number; readonly ns: number }[]) => ({
  count: list.reduce((sum, { count }) => sum + count, 0),
  ns: list.reduce((sum, { ns }) => sum + ns, 0),
});

describe("a DeepSeek-V3 shaped engine on an H200", () => {
  let nsys: Timeline;
  let torch: Timeline;
  beforeAll(async () => {
    nsys = await own("h200-pipeline.nsys.sqlite.gz");
    torch = await own("h200-pipeline.torch-trace.json.gz");
  });

  test("totals are those that SQL gives on the export", () => {
    const times = timesOf(nsys);
    expect(times).toMatchObject({
      kernels: 3892,
      distinct_names: 79,
      kernel_sum_ns: 41_570_397,
      kernel_exclusive: { ns: 41_570_205 },
      kernel_union: { ns: 41_570_205 },
      busy: { ns: 42_556_026 },
      span: { ns: 909_325_324 },
      overlap_pairs: 2,
    });
    expect(sumOf(times.copies)).toStrictEqual({ count: 156, ns: 906_589 });
    expect(sumOf(times.sets)).toStrictEqual({ count: 89, ns: 79_232 });
  });

  test("the ten kernels that take most", () => {
    const ranking = rank(nsys);
    expect(ranking).toMatchObject({ busy_us: 42_556.026, overlap_on_streams: { pairs: 2, us: 0.192 } });
    expect(ranking.kernels.slice(0, 10).map(({ timing, recorded_us }) => [timing.n, recorded_us])).toStrictEqual([
      [6, 4861.425],
      [52, 4788.366],
      [48, 3644.979],
      [81, 3477.493],
      [76, 2800.026],
      [468, 2315.034],
      [27, 1827.163],
      [1, 1389.979],
      [63, 1332.028],
      [32, 1268.412],
    ]);
    expect(ranking.kernels[0]?.share_of_busy).toBeCloseTo(0.1142, 4);
    expect(ranking.kernels[0]?.share_of_kernels).toBeCloseTo(0.1169, 4);
    expect(ranking.findings.map(({ code }) => code)).toStrictEqual([
      "gpu_mostly_idle",
      "tool_warns_cuda_events_incomplete",
    ]);
    const shares = ranking.kernels.reduce((sum, { share_of_kernels }) => sum + (share_of_kernels ?? 0), 0);
    expect(shares).toBeCloseTo(1, 9);
  });

  test("one shape of a persistent kernel is several clusters, cut where gaps are widest", () => {
    const kernel = rank(nsys).kernels.find(({ key }) => key.key.startsWith("nvjet_sm90_tst_256x128"));
    const [shape] = kernel?.shapes ?? [];
    expect(shape?.timing).toMatchObject({ n: 52 });
    expect(shape?.timing.max_us).toBeGreaterThan(1_100);
    expect(shape?.clusters.length).toBeGreaterThan(1);
    const clusters = (shape?.clusters ?? []).toSorted((a, b) => Number(a.timing.min_us) - Number(b.timing.min_us));
    expect(clusters.reduce((sum, { timing }) => sum + timing.n, 0)).toBe(52);
    let narrowestCut = Number.POSITIVE_INFINITY;
    for (const [position, { timing, launches }] of clusters.entries()) {
      expect(Number(timing.max_us)).toBeLessThanOrEqual(1.5 * Number(timing.min_us));
      expect(launches.flatMap(({ rows }) => [...rows])).toHaveLength(timing.n);
      const next = clusters[position + 1];
      if (next) narrowestCut = Math.min(narrowestCut, Number(next.timing.min_us) / Number(timing.max_us));
    }
    const durations = clusters.map(({ launches }) =>
      launches
        .flatMap(({ rows }) => [...rows].map((row) => nsys.rows.end_ns[row]! - nsys.rows.start_ns[row]!))
        .sort((a, b) => a - b),
    );
    for (const inside of durations)
      for (let at = 1; at < inside.length; at += 1)
        expect(inside[at]! / inside[at - 1]!).toBeLessThanOrEqual(narrowestCut);
  });

  test("nsys and torch (two runs of one program) agree on the launches of the kernels whose names they spell alike", () => {
    const counts = (timeline: Timeline) =>
      rank(timeline)
        .kernels.map(({ timing }) => timing.n)
        .sort((a, b) => a - b);
    expect(counts(torch)).toStrictEqual(counts(nsys));
    const byKey = new Map(rank(nsys).kernels.map(({ key, timing }) => [key.key, timing.n]));
    const alike = rank(torch).kernels.filter(({ key }) => byKey.has(key.key));
    expect(alike.length).toBeGreaterThanOrEqual(40);
    for (const { key, timing } of alike) expect(timing.n).toBe(byKey.get(key.key));
    expect(timesOf(torch)).toMatchObject({
      kernels: 3892,
      kernel_sum_ns: 39_071_313,
      busy: { ns: 40_056_911 },
      span: { ns: 598_017_407 },
    });
  });

  test("one duration of 3.4 s among them: named, and no ranking", () => {
    const row = nsys.rows.kind.indexOf(0, 2_000);
    const end_ns = nsys.rows.end_ns.slice();
    end_ns[row] = nsys.rows.start_ns[row]! + 3_400_000_000;
    const result = rankTimeline([{ ...nsys, rows: { ...nsys.rows, end_ns } }]);
    expect(result.ok).toBe(false);
    if (!result.ok) expect(result.error).toMatchObject({ code: "timeline_degenerate", evidence: { worst_row: row } });
  });
});

test("what nsys stats printed of a recording ranks its kernels as the recording does", async () => {
  const kernels = (timeline: Timeline) =>
    rank(timeline).kernels.map(({ key, timing, recorded_us }) => [key.key, timing.n, recorded_us]);
  const printed = await own("tiny-collective.nsys-stats.txt");
  expect(kernels(printed)).toStrictEqual(kernels(await own("tiny-collective.nsys.sqlite.gz")));
  expect(judgeTimeline(printed)).toMatchObject({ findings: [], refusal: null });
});

test("a program of streams and one of graphs on an H200", async () => {
  expect(timesOf(await own("tiny-collective.nsys.sqlite.gz"))).toMatchObject({
    kernels: 22,
    kernel_sum_ns: 7_585_317,
    kernel_union: { ns: 7_582_245 },
    busy: { ns: 16_418_887 },
    span: { ns: 68_241_461 },
  });
  const graphs = await own("tiny-graph-nodes.nsys.sqlite.gz");
  expect(timesOf(graphs)).toMatchObject({
    kernels: 16,
    kernel_sum_ns: 7_554_019,
    kernel_union: { ns: 7_553_411 },
    busy: { ns: 15_211_337 },
    span: { ns: 57_433_368 },
  });
  expect(judgeTimeline(graphs).refusal).toBeNull();
});

interface Expected {
  readonly launches: number;
  readonly distinct_names: number;
  readonly kernel_sum_ns: number;
  readonly kernel_exclusive_ns: number;
  readonly kernel_union_ns: number;
  readonly union_ns: number;
  readonly union_all_ns: number;
  readonly span_ns: number | null;
  readonly overlap_pairs_same_stream: number;
  readonly copies: { readonly count: number; readonly ns: number };
  readonly sets: { readonly count: number; readonly ns: number };
  readonly trust: readonly { readonly code: string }[];
}

/** What is said beside the codes of the list, where a ranking is withheld for what a code says. */
const REFUSALS: Readonly<Record<string, string>> = { launch_calls_without_kernel: "timeline_incomplete" };

const directory = samplesDir();
const samples =
  directory === null
    ? []
    : readdirSync(join(directory, "timelines")).filter((name) => /\.(?:sqlite|json)\.gz$/.test(name));
const expected: Record<string, Expected> =
  directory === null ? {} : JSON.parse(readFileSync(join(directory, "expected/timelines.json"), "utf8")).files;

describe.skipIf(directory === null)("timelines of other people", () => {
  test.each(samples)("%s", async (name) => {
    const timeline = await timelineOf(join(directory ?? "", "timelines", name));
    const want = expected[name];
    if (want === undefined) throw new Error(`nothing is expected of ${name}`);
    const times = timesOf(timeline);
    expect({
      launches: times.kernels,
      distinct_names: times.distinct_names,
      kernel_sum_ns: times.kernel_sum_ns,
      kernel_exclusive_ns: times.kernel_exclusive.ns,
      kernel_union_ns: times.kernel_union.ns,
      union_ns: times.busy.ns,
      union_all_ns: times.busy_all.ns,
      span_ns: times.span.ns,
      overlap_pairs_same_stream: times.overlap_pairs,
      copies: sumOf(times.copies),
      sets: sumOf(times.sets),
    }).toMatchObject({
      launches: want.launches,
      distinct_names: want.distinct_names,
      kernel_sum_ns: want.kernel_sum_ns,
      kernel_exclusive_ns: want.kernel_exclusive_ns,
      kernel_union_ns: want.kernel_union_ns,
      union_ns: want.union_ns,
      union_all_ns: want.union_all_ns,
      span_ns: want.span_ns,
      overlap_pairs_same_stream: want.overlap_pairs_same_stream,
      copies: { count: want.copies.count, ns: want.copies.ns },
      sets: { count: want.sets.count, ns: want.sets.ns },
    });
    const { findings, refusal } = judgeTimeline(timeline);
    const codes = want.trust.map(({ code }) => code);
    const refusals = codes.flatMap((code) => REFUSALS[code] ?? []);
    expect([...findings.map(({ code }) => code), ...(refusal ? [refusal.code] : [])].sort()).toStrictEqual(
      [...codes, ...refusals].sort(),
    );
  });

  test("a summary by name: totals alone", async () => {
    const timeline = await timelineOf(join(directory ?? "", "timelines", "nsys_stats_kern_sum_rtx5090.csv.gz"));
    expect(judgeTimeline(timeline)).toMatchObject({ findings: [], refusal: null });
    expect(rank(timeline)).toMatchObject({ launches: 78_016, kernels_recorded_us: 179_072.697, busy_us: null });
    expect(timesOf(timeline)).toMatchObject({ kernels: 78_016, distinct_names: 46, kernel_sum_ns: 179_072_697 });
  });

  test("two ranks of 128 are ranked together; collectives are matched by call", async () => {
    const ranks = await Promise.all(
      [0, 1].map((number) => timelineOf(join(directory ?? "", "timelines", `torch_rank${number}_of_128.json.gz`))),
    );
    const ranking = rank(...ranks);
    expect(ranking.launches).toBe(1154 + 1104);
    expect(ranking.busy_us).toBe(547_656 + 580_050);
    const isCollective = ({ display }: { display: string }) => /nccl/i.test(display);
    const { ranks: found, kernels, total_us } = splitCollectives(ranks, isCollective);
    expect(found.map(({ label }) => label)).toStrictEqual(["rank 0, GPU 0", "rank 1, GPU 1"]);
    expect(total_us).toBe(396_199 + 379_053);
    // All of them are send and receive: durations only.
    expect(kernels.every(({ transfer_us, null_reason }) => transfer_us === null && null_reason !== null)).toBe(true);
  });
});

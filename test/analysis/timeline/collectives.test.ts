import { describe, expect, test } from "vitest";
import { splitCollectives } from "../../../src/analysis/timeline/collectives.ts";
import type { KernelNames } from "../../../src/model/launch.ts";
import { type MadeRow, madeTimeline } from "../../helpers/timelines.ts";

const REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL";
const GATHER = "ncclDevKernel_AllGather_RING_LL";
const SEND = "ncclDevKernel_SendRecv";

const isCollective = ({ display }: KernelNames) => display.startsWith("nccl");

/** A rank's calls one after another; between them other work. */
function rank(number: number, calls: readonly (readonly [name: string, us: number])[]) {
  let at = 0;
  const rows: MadeRow[] = [];
  for (const [name, us] of calls) {
    rows.push({ name: "gemm", at, us: 50, rank: number }, { name, at: at + 60, us, rank: number });
    at += 100 + us;
  }
  return madeTimeline({ rows });
}

const reduces = (...us: number[]) => us.map((duration) => [REDUCE, duration] as const);

describe("collectives over ranks", () => {
  test("transfer is the shortest duration over the ranks, waiting the rest, the first call set apart", () => {
    const { kernels, transfer_us, wait_us_by_rank, total_us, findings } = splitCollectives(
      [rank(0, reduces(500, 10, 30, 12)), rank(1, reduces(20, 25, 10, 12))],
      isCollective,
    );
    expect(kernels).toMatchObject([
      {
        key: REDUCE,
        matched_calls: 4,
        first: { durations_us: [500, 20], transfer_us: 20, wait_us: [480, 0] },
        transfer_us: 32,
        by_rank: [
          { calls: 4, total_us: 552, wait_us: 20 },
          { calls: 4, total_us: 67, wait_us: 15 },
        ],
        null_reason: null,
      },
    ]);
    expect(transfer_us).toBe(32);
    expect(wait_us_by_rank).toStrictEqual([20, 15]);
    expect(total_us).toBe(619);
    expect(findings).toStrictEqual([]);
  });

  test("one rank: the sum, and null with the reason", () => {
    const split = splitCollectives([rank(0, reduces(500, 10))], isCollective);
    expect(split).toMatchObject({ total_us: 510, transfer_us: null, wait_us_by_rank: null });
    expect(split.null_reason).toBe(
      "one rank was recorded: how much of a collective is waiting for the others is unknown",
    );
    expect(split.kernels[0]).toMatchObject({ transfer_us: null, first: null, by_rank: [{ wait_us: null }] });
  });

  test("two processes or GPUs of one file are two ranks", () => {
    const rows = (own: Partial<MadeRow>, us: number): MadeRow[] =>
      [0, 100].map((at) => ({ name: REDUCE, at, us, ...own }));
    for (const [one, other] of [
      [{ process: "1" }, { process: "2" }],
      [{ device: 0 }, { device: 1 }],
    ] as const) {
      const split = splitCollectives([madeTimeline({ rows: [...rows(one, 10), ...rows(other, 15)] })], isCollective);
      expect(split.ranks).toHaveLength(2);
      expect(split.kernels[0]).toMatchObject({ transfer_us: 10, by_rank: [{ wait_us: 0 }, { wait_us: 5 }] });
    }
  });

  test("point-to-point has durations only", () => {
    const calls = [[SEND, 10] as const, [SEND, 20] as const];
    const { kernels } = splitCollectives([rank(0, calls), rank(1, calls)], isCollective);
    expect(kernels[0]).toMatchObject({ total_us: 60, transfer_us: null });
    expect(kernels[0]?.null_reason).toContain("point-to-point");
  });

  test("other counts: matched up to the first difference, and said", () => {
    const { kernels, findings } = splitCollectives(
      [
        rank(0, [...reduces(5, 10), [GATHER, 10], ...reduces(10, 10)]),
        rank(1, [...reduces(5, 15), [GATHER, 12], [GATHER, 9]]),
      ],
      isCollective,
    );
    expect(findings).toMatchObject([{ code: "collective_calls_differ", evidence: { count: 2, calls_alike: 3 } }]);
    expect(kernels.find(({ key }) => key === REDUCE)).toMatchObject({
      matched_calls: 2,
      transfer_us: 10,
      by_rank: [
        { calls: 4, wait_us: 0 },
        { calls: 2, wait_us: 5 },
      ],
    });
    expect(kernels.find(({ key }) => key === GATHER)).toMatchObject({ matched_calls: 1, transfer_us: null });
  });

  test("other counts of calls that are all alike: which are missing cannot be told, so nothing is matched", () => {
    const { kernels } = splitCollectives([rank(0, reduces(5, 10, 10)), rank(1, reduces(5, 10))], isCollective);
    expect(kernels[0]).toMatchObject({ matched_calls: 0, transfer_us: null });
    expect(kernels[0]?.null_reason).toContain("(rank 0, GPU 0: 3; rank 1, GPU 0: 2)");
  });

  test("calls of two communicators may interleave otherwise where the counts are the same", () => {
    const { kernels } = splitCollectives(
      [rank(0, [...reduces(5, 10), [GATHER, 5], [GATHER, 10]]), rank(1, [[GATHER, 5], ...reduces(5, 12), [GATHER, 9]])],
      isCollective,
    );
    expect(kernels.map(({ key, transfer_us }) => [key, transfer_us])).toStrictEqual([
      [REDUCE, 10],
      [GATHER, 9],
    ]);
  });

  test("another grid on another rank is another size: not matched", () => {
    const made = (grid: number, number: number) =>
      madeTimeline({
        rows: [0, 100].map((at) => ({ name: REDUCE, at, us: 10, rank: number, grid: [grid, 1, 1] as const })),
      });
    const { kernels } = splitCollectives([made(24, 0), made(16, 1)], isCollective);
    expect(kernels[0]?.null_reason).toContain("call 1 has another grid");
  });

  test("of a window only its calls", () => {
    const ranks = [rank(0, reduces(500, 10, 10)), rank(1, reduces(20, 15, 10))];
    const { kernels } = splitCollectives(ranks, isCollective, { window: { from_us: 100, to_us: 10_000 } });
    expect(kernels[0]?.by_rank.map(({ calls }) => calls)).toStrictEqual([2, 2]);
    expect(splitCollectives(ranks, isCollective, { window: { step: 1 } }).kernels).toStrictEqual([]);
  });

  test("none at all", () => {
    expect(splitCollectives([rank(0, [])], isCollective)).toMatchObject({
      kernels: [],
      total_us: 0,
      transfer_us: null,
      null_reason: "no collective was recorded",
    });
  });
});

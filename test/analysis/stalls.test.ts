import { describe, expect, test } from "vitest";
import { stallGroup, stallShares } from "../../src/analysis/stalls.ts";
import { judge } from "../helpers/judge.ts";
import type { MetricValues } from "../helpers/metric-set.ts";

const ratio = (reason: string): string => `smsp__average_warps_issue_stalled_${reason}_per_issue_active.ratio`;
const LATENCY = "smsp__average_warp_latency_per_inst_issued.ratio";
const ratios = (cycles: Readonly<Record<string, number>>): MetricValues =>
  Object.fromEntries(Object.entries(cycles).map(([reason, value]) => [ratio(reason), value]));

test("groups, with the names of the sampling family", () => {
  expect(stallGroup("long_scoreboard")).toBe("memory_dependency");
  expect(stallGroup("gmma")).toBe("tensor_wait");
  expect(stallGroup("warpgroup_arrive")).toBe("tensor_wait");
  expect(stallGroup("no_instructions")).toBe("instruction_fetch");
  expect(stallGroup("tex_throttle")).toBe("memory_throttle");
  expect(stallGroup("a_reason_of_next_year")).toBe("other");
});

test("shares leave out issuing, sum to 1 and stand largest first, zeros included", () => {
  const shares = stallShares(
    new Map([
      ["selected", 1],
      ["barrier", 1],
      ["membar", 1],
      ["wait", 6],
      ["sleeping", 0],
    ]),
  );
  expect(shares?.byGroup).toStrictEqual({ execution_dependency: 0.75, synchronization: 0.25, sleeping: 0 });
  expect(Object.keys(shares?.byGroup ?? {})).toStrictEqual(["execution_dependency", "synchronization", "sleeping"]);
  expect(Object.keys(shares?.byReason ?? {})).toStrictEqual(["wait", "barrier", "membar", "sleeping"]);
});

test("no stalled cycle: no shares, not zeros", () => {
  expect(
    stallShares(
      new Map([
        ["selected", 1],
        ["wait", 0],
      ]),
    ),
  ).toBeNull();
  expect(stallShares(new Map())).toBeNull();
});

describe("a launch", () => {
  const cycles = { selected: 1, long_scoreboard: 6, wait: 2, new_reason: 1 };

  test("has shares, cycles and the check against the warp latency", () => {
    const result = judge({ ...ratios(cycles), [LATENCY]: 10 });
    expect(result.warp_stall_reasons).toMatchObject({
      memory_dependency: 6 / 9,
      execution_dependency: 2 / 9,
      other: 1 / 9,
    });
    expect(result.detail.stalls).toMatchObject({
      dominant_group: "memory_dependency",
      sum_over_warp_latency: 1,
      cycles_per_issue: cycles,
      shares: result.warp_stall_reasons,
    });
    expect(result.findings).toStrictEqual([]);
  });

  test.each([
    [10.6, true],
    [9.4, true],
    [10.4, false],
    [9.6, false],
  ])("warp latency %f: unreliable %s", (latency, unreliable) => {
    const { findings } = judge({ ...ratios(cycles), [LATENCY]: latency });
    expect(findings.map(({ code }) => code)).toStrictEqual(unreliable ? ["stall_shares_unreliable"] : []);
  });

  test("a reason without a number is left out of the shares", () => {
    const { detail } = judge({ ...ratios(cycles), [ratio("barrier")]: Number.NaN });
    expect(detail.stalls.shares_by_reason).not.toHaveProperty("barrier");
  });

  test("percentages of active warp cycles give shares and no cycles", () => {
    const { detail } = judge({
      smsp__warp_issue_stalled_long_scoreboard_per_warp_active: 1,
      "smsp__warp_issue_stalled_long_scoreboard_per_warp_active.pct": 60,
      "smsp__warp_issue_stalled_wait_per_warp_active.pct": 20,
      "smsp__warp_issue_stalled_selected_per_warp_active.pct": 20,
    });
    expect(detail.stalls.shares).toStrictEqual({ memory_dependency: 0.75, execution_dependency: 0.25 });
    expect(detail.stalls.cycles_per_issue).toBeNull();
    expect(detail.null_reasons["detail.stalls.cycles_per_issue"]).toContain("not collected");
  });

  test("samples serve last, those that did not issue are another count", () => {
    const { detail } = judge({
      smsp__pcsamp_warps_issue_stalled_warpgroup_arrive: 30,
      smsp__pcsamp_warps_issue_stalled_barrier: 10,
      smsp__pcsamp_warps_issue_stalled_barrier_not_issued: 999,
      smsp__pcsamp_warps_issue_stalled_selected: 50,
    });
    expect(detail.stalls.shares).toStrictEqual({ tensor_wait: 0.75, synchronization: 0.25 });
    expect(detail.stalls.sum_over_warp_latency).toBeNull();
  });

  test("without any of them everything is null, with the reason", () => {
    const result = judge({});
    expect(result.warp_stall_reasons).toBeNull();
    expect(result.detail.stalls).toStrictEqual({
      cycles_per_issue: null,
      shares_by_reason: null,
      shares: null,
      dominant_group: null,
      sum_over_warp_latency: null,
    });
    expect(result.detail.null_reasons.warp_stall_reasons).toContain("not collected");
  });
});

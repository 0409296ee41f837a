import { describe, expect, test } from "vitest";
import { rankTimeline } from "../../../src/analysis/timeline/rank.ts";
import type { TimelineWindow } from "../../../src/analysis/timeline/window.ts";
import { launches, type MadeTimeline, madeTimeline } from "../../helpers/timelines.ts";

const inWindow = (made: MadeTimeline, window: TimelineWindow) => rankTimeline([madeTimeline(made)], { window });

function ranked(made: MadeTimeline, window: TimelineWindow) {
  const result = inWindow(made, window);
  if (!result.ok) throw new Error(result.error.message);
  return result.value;
}

function refused(made: MadeTimeline, window: TimelineWindow) {
  const result = inWindow(made, window);
  if (result.ok) throw new Error("was ranked");
  return result.error;
}

/** Ten kernels of 10 us, 100 us apart, each launched 5 us before; a range around the calls of five of them. */
const made: MadeTimeline = {
  rows: launches("k", 10, { from: 1_000, period: 100 }),
  ranges: [
    { text: "decode", at: 1_090, us: 210 },
    { text: "decode", at: 1_590, us: 110 },
    { text: "aten::mm, op_id = 7", at: 1_000, us: 1 },
    { text: "aten::mm, op_id = 8", at: 1_090, us: 10 },
    { text: "open", at: 0, us: null },
    { text: "empty", at: 10, us: 5 },
    { text: "ProfilerStep#5", at: 990, us: 100 },
    { text: "ProfilerStep#6", at: 1_090, us: 1_000 },
  ],
};

describe("a window by NVTX range", () => {
  test("holds what is launched inside, over all ranges of the name; gaps between them are not idle time", () => {
    const ranking = ranked(made, { nvtx: "decode" });
    expect(ranking).toMatchObject({ launches: 5, busy_us: 50, span_us: 610, wall_us: 320 });
    expect(ranking.idle).toMatchObject({ count: 3, total_us: 270 });
  });

  test("running numbers of torch's ranges are no part of the name", () => {
    expect(ranked(made, { nvtx: "aten::mm" })).toMatchObject({ launches: 1 });
    expect(ranked(made, { nvtx: "aten::mm, op_id = 8" })).toMatchObject({ launches: 1 });
  });

  test("a name that is not there, with those that are", () => {
    const error = refused(made, { nvtx: "prefill" });
    expect(error).toMatchObject({ code: "timeline_window_not_found", timeline: 0, evidence: { ranges: 8 } });
    expect(error.evidence.names).toContain("aten::mm, decode");
    expect(refused({ rows: launches("k", 3) }, { nvtx: "x" }).message).toContain("which has no ranges at all");
    expect(refused(made, { nvtx: "open" }).message).toContain("1 time and never closed");
  });

  test("nothing launched inside; launch calls not recorded", () => {
    expect(refused(made, { nvtx: "empty" })).toMatchObject({
      code: "timeline_window_empty",
      evidence: { activities: 10 },
    });
    const uncalled = { ...made, rows: launches("k", 10, { call: null }) };
    expect(refused(uncalled, { nvtx: "decode" })).toMatchObject({ code: "timeline_window_invalid" });
  });
});

describe("a window by step", () => {
  test("steps with a number go by it", () => {
    expect(ranked(made, { step: 6 })).toMatchObject({ launches: 9 });
    expect(refused(made, { step: 0 }).message).toBe("step 0 is not in the timeline, which has 2 steps, 5 to 6");
  });

  test("others count from 0", () => {
    const ranges = [0, 1].map((step) => ({ text: "step[DECODE bs=1]", at: 990 + step * 200, us: 190 }));
    expect(ranked({ ...made, ranges }, { step: 1 })).toMatchObject({ launches: 2, busy_us: 20 });
    expect(refused({ ...made, ranges }, { step: 2 }).message).toContain("2 steps, 0 to 1");
  });

  test.each([-1, 1.5, Number.NaN])("step %s is none", (step) => {
    expect(refused(made, { step })).toMatchObject({ code: "timeline_window_invalid" });
  });

  test("no steps recognised", () => {
    expect(refused({ rows: launches("k", 3) }, { step: 0 }).message).toContain("steps not recognised");
  });
});

describe("a window by time", () => {
  test("counts from the first GPU activity and holds what starts inside", () => {
    expect(ranked(made, { from_us: 0, to_us: 100 })).toMatchObject({ launches: 1, span_us: 10 });
    expect(ranked(made, { from_us: 100, to_us: 301 })).toMatchObject({ launches: 3, span_us: 210, busy_us: 30 });
  });

  test("wrong ones, and those with nothing inside", () => {
    for (const [from_us, to_us] of [
      [10, 10],
      [20, 10],
      [Number.NaN, 10],
      [0, Number.POSITIVE_INFINITY],
    ] as const)
      expect(refused(made, { from_us, to_us })).toMatchObject({ code: "timeline_window_invalid" });
    const error = refused(made, { from_us: 5_000, to_us: 6_000 });
    expect(error).toMatchObject({ code: "timeline_window_empty", evidence: { last_start_us: 900 } });
    expect(error.message).toContain("activities start from 0 to 900 us");
  });

  test("only copies inside: no ranking", () => {
    const rows = [...launches("k", 3), { name: "[CUDA memset]", kind: "memset" as const, at: 1_000, us: 5 }];
    expect(refused({ rows }, { from_us: 900, to_us: 2_000 })).toMatchObject({ code: "timeline_window_empty" });
  });

  test("work that is not in the window is no idle time", () => {
    const rows = [
      { name: "a", at: 0, us: 10, call: 0 },
      { name: "other", at: 20, us: 50, call: 500 },
      { name: "a", at: 80, us: 10, call: 1 },
    ];
    const ranking = ranked({ rows, ranges: [{ text: "w", at: 0, us: 10 }] }, { nvtx: "w" });
    expect(ranking).toMatchObject({ launches: 2, busy_us: 20, wall_us: 90, idle: { total_us: 20, count: 2 } });
  });
});

test("a window without any of the hot kernels is said to miss them", () => {
  const rows = [...launches("hot", 50, { us: 19 }), ...launches("cold", 5, { from: 5_000 })];
  const ranking = ranked({ rows }, { from_us: 4_000, to_us: 6_000 });
  expect(ranking.findings).toMatchObject([{ code: "window_misses_hot_kernels", evidence: { hottest: "hot" } }]);
  expect(ranked({ rows }, { from_us: 900, to_us: 6_000 }).findings.map(({ code }) => code)).not.toContain(
    "window_misses_hot_kernels",
  );
});

test("a wrong event outside of the window does not stop it", () => {
  const rows = [
    ...launches("k", 50),
    { name: "stuck", at: 2_000, us: 3_400_000 },
    ...launches("c", 20, { from: 2_010 }),
  ];
  expect(refused({ rows }, { from_us: 0, to_us: 3_000 })).toMatchObject({ code: "timeline_degenerate" });
  expect(ranked({ rows }, { from_us: 0, to_us: 1_000 })).toMatchObject({ launches: 50 });
});

test("a rank without the window adds nothing, which is said", () => {
  const rank = (number: number, text: string) =>
    madeTimeline({ rows: launches("k", 5, { rank: number }), ranges: [{ text, at: -10, us: 1_000 }] });
  const result = rankTimeline([rank(0, "decode"), rank(1, "prefill")], { window: { nvtx: "decode" } });
  expect(result.ok && result.value).toMatchObject({
    launches: 5,
    findings: [{ code: "window_not_in_all_timelines", evidence: { timelines: "1" } }],
  });
  const none = rankTimeline([rank(0, "decode"), rank(1, "prefill")], { window: { nvtx: "x" } });
  expect(none.ok).toBe(false);
});

import { describe, expect, test } from "vitest";
import { phaseOfRow, stepsOf } from "../../../src/analysis/timeline/steps.ts";
import { launches, type MadeHostRow, type MadeRow, madeTimeline } from "../../helpers/timelines.ts";

const steps = (ranges: MadeHostRow[], rows: Iterable<MadeRow> = []) => {
  const timeline = madeTimeline({ ranges, rows });
  const found = stepsOf(timeline);
  return {
    ...found,
    texts: found.steps.map(({ text }) => text),
    ofRows: Array.from({ length: timeline.rows.count }, (_, row) => found.of(row)),
    phases: Array.from({ length: timeline.rows.count }, (_, row) => phaseOfRow(found, row)),
  };
};

describe("step marks", () => {
  test.each([
    ["execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk32785sqsq32sqsk32785)", "decode"],
    ["execute_512_context_1(sq512sk512)_generation_0(sq0sk0)", "prefill"],
    ["execute_context_1(512_512)_generation_31(31_4000)", "mixed"],
    ["execute_context_0(0)_generation_8(8)", "decode"],
    ["execute_context_2(700)_generation_0(0)", "prefill"],
    ["execute_context_0(0)_generation_0(0)", "unknown"],
    ["step[DECODE bs=32]", "decode"],
    ["step[EXTEND bs=1 toks=512]", "prefill"],
    ["step[MIXED bs=4]", "mixed"],
    ["step[TARGET_VERIFY bs=4]", "verify"],
    ["step[DRAFT_EXTEND bs=4]", "draft"],
    ["step[SOMETHING_NEW bs=4]", "unknown"],
    ["ProfilerStep#551", "unknown"],
  ])("%s", (text, phase) => {
    const found = steps([{ text, at: 0, us: 100 }]);
    expect(found.null_reason).toBeNull();
    expect(found.steps.map((step) => step.phase)).toStrictEqual([phase]);
  });

  test.each(["execute_model", "a step[DECODE bs=32]", "ProfilerStep", `step[${"A".repeat(600)}]`, ""])(
    "%s is none",
    (text) => {
      expect(steps([{ text, at: 0, us: 100 }]).null_reason).toContain("steps not recognised");
    },
  );

  test("work belongs to the step that launched it, however late it runs", () => {
    const found = steps(
      [
        { text: "execute_context_1(5)_generation_0(0)", at: 0, us: 100 },
        { text: "execute_context_0(0)_generation_1(1)", at: 100, us: 100 },
      ],
      [
        { name: "k", at: 150, us: 10, call: 90 },
        { name: "k", at: 400, us: 10, call: 150 },
        { name: "k", at: 500, us: 10, call: 300 },
        { name: "k", at: 600, us: 10, call: null },
      ],
    );
    expect(found.ofRows).toStrictEqual([0, 1, -1, -1]);
    expect(found.phases).toStrictEqual(["prefill", "decode", "unknown", "unknown"]);
  });

  test("another thread of the process launches for the step; another process does not", () => {
    const mark = { text: "ProfilerStep#1", at: 0, us: 100, thread: "1" };
    const found = steps(
      [mark],
      [
        { name: "k", at: 50, us: 1, call: 40, thread: "backward" },
        { name: "k", at: 60, us: 1, call: 50, process: "2" },
      ],
    );
    expect(found.ofRows).toStrictEqual([0, -1]);
  });

  test("of two nested grammars the inner one counts, in whichever order they come", () => {
    const outer = "execute_32_context_0(sq0)_generation_32(sq32)";
    const found = steps([
      { text: outer, at: 0, us: 100 },
      { text: "step[DECODE bs=32]", at: 5, us: 90 },
      { text: outer, at: 200, us: 100 },
      { text: "step[DECODE bs=32]", at: 205, us: 90 },
    ]);
    expect(found.texts).toStrictEqual(["step[DECODE bs=32]", "step[DECODE bs=32]"]);
    const inner = steps([
      { text: "ProfilerStep#1", at: 0, us: 300 },
      { text: outer, at: 5, us: 90 },
      { text: outer, at: 105, us: 90 },
    ]);
    expect(inner.texts).toStrictEqual([outer, outer]);
  });

  test("of nested marks of one grammar the inner ones count", () => {
    const found = steps([
      { text: "step[DECODE bs=1]", at: 0, us: 100 },
      { text: "step[DRAFT_EXTEND bs=1]", at: 5, us: 20 },
      { text: "step[TARGET_VERIFY bs=1]", at: 30, us: 60 },
    ]);
    expect(found.steps.map(({ phase }) => phase)).toStrictEqual(["draft", "verify"]);
  });

  test("marks of one process that overlap on two threads are told apart by thread", () => {
    const found = steps(
      [
        { text: "step[DECODE bs=1]", at: 0, us: 100, thread: "1" },
        { text: "step[EXTEND bs=1]", at: 50, us: 100, thread: "2" },
      ],
      [
        { name: "k", at: 70, us: 1, call: 60, thread: "1" },
        { name: "k", at: 80, us: 1, call: 65, thread: "2" },
        { name: "k", at: 90, us: 1, call: 70, thread: "3" },
      ],
    );
    expect(found.phases).toStrictEqual(["decode", "prefill", "unknown"]);
  });

  test("marks that overlap on one thread are not used", () => {
    const found = steps([
      { text: "step[DECODE bs=1]", at: 0, us: 100 },
      { text: "step[EXTEND bs=1]", at: 50, us: 100 },
    ]);
    expect(found.null_reason).toBe("steps not recognised: step marks of one thread overlap");
  });

  test("marks that never close, and no ranges at all", () => {
    expect(steps([{ text: "ProfilerStep#1", at: 0, us: null }]).null_reason).toContain("steps not recognised");
    expect(steps([]).null_reason).toBe("steps not recognised: no ranges were recorded");
  });

  test("patterns are a list that may be replaced", () => {
    const timeline = madeTimeline({
      ranges: [{ text: "my step 7: decode", at: 0, us: 100 }],
      rows: launches("k", 2),
    });
    const found = stepsOf(timeline, [
      {
        grammar: "mine",
        pattern: "my step (\\d+): (\\w+)",
        number_group: 1,
        mode_group: 2,
        modes: { decode: "decode" },
      },
    ]);
    expect(found.steps).toMatchObject([{ grammar: "mine", number: 7, phase: "decode" }]);
    expect(() => stepsOf(timeline, [{ grammar: "bad", pattern: "(" }])).toThrow();
  });
});

import { expect, it } from "vitest";
import { measurableKernels } from "../../../src/analysis/timeline/measurable.ts";
import { rankTimeline } from "../../../src/analysis/timeline/rank.ts";
import type { Timeline } from "../../../src/model/timeline.ts";
import { type MadeTimeline, madeTimeline, namesOf } from "../../helpers/timelines.ts";

/** A timeline whose kernels are named as a linker names them. */
function mangled(made: MadeTimeline): Timeline {
  const timeline = madeTimeline(made);
  const names = timeline.names.map(({ display }) => ({
    ...namesOf(display),
    function: display,
    mangled: `_Z${display}`,
  }));
  return { ...timeline, names };
}

function kernelsOf(timeline: Timeline, options: Parameters<typeof rankTimeline>[1] = {}) {
  const ranking = rankTimeline([timeline], options);
  if (!ranking.ok) throw new Error(ranking.error.message);
  return measurableKernels(timeline, ranking.value.kernels);
}

it("launches are numbered by mangled name from 1, whatever their shape and cluster", () => {
  const timeline = mangled({
    rows: [
      { name: "a", at: 0, us: 10 },
      { name: "b", at: 20, us: 10 },
      { name: "a", at: 40, us: 50, grid: [2, 1, 1] },
      { name: "a", at: 100, us: 11 },
    ],
  });
  const [a, b] = kernelsOf(timeline);
  expect(a).toMatchObject({ kernel: "a", function: "a", has_mangled: true, total_ns: 71_000 });
  expect(a?.clusters).toEqual([
    { grid: "2x1x1", block: "128x1x1", launches: [{ mangled: "_Za", ordinal: 2, duration_ns: 50_000 }] },
    {
      grid: "1x1x1",
      block: "128x1x1",
      launches: [
        { mangled: "_Za", ordinal: 1, duration_ns: 10_000 },
        { mangled: "_Za", ordinal: 3, duration_ns: 11_000 },
      ],
    },
  ]);
  expect(b?.clusters[0]?.launches).toEqual([{ mangled: "_Zb", ordinal: 1, duration_ns: 10_000 }]);
});

const ordinalsByDuration = (
  timeline: Timeline,
  options: Parameters<typeof rankTimeline>[1] = {},
): Map<number, number> =>
  new Map(
    kernelsOf(timeline, options)
      .flatMap(({ clusters }) => clusters.flatMap(({ launches }) => launches))
      .map(({ duration_ns, ordinal }) => [duration_ns / 1000, ordinal]),
  );

it("numbers follow the order of the launch calls, not of the starts on other streams", () => {
  const rows = [
    { name: "a", at: 100, us: 10, call: 50, stream: "7" },
    { name: "a", at: 60, us: 20, call: 55, stream: "8" },
  ];
  expect(ordinalsByDuration(mangled({ rows }))).toEqual(
    new Map([
      [10, 1],
      [20, 2],
    ]),
  );
  const uncalled = rows.map((row) => ({ ...row, call: null }));
  expect(ordinalsByDuration(mangled({ rows: uncalled }))).toEqual(
    new Map([
      [10, 2],
      [20, 1],
    ]),
  );
});

it("numbers count launches outside the window too", () => {
  const rows = [10, 20, 30, 40].map((us, at) => ({ name: "a", at: at * 100, us }));
  const window = { from_us: 150, to_us: 350 };
  expect(ordinalsByDuration(mangled({ rows }), { window })).toEqual(
    new Map([
      [30, 3],
      [40, 4],
    ]),
  );
});

it("each process counts by itself", () => {
  const rows = [
    { name: "a", at: 0, us: 10, process: "1", device: 0 },
    { name: "a", at: 0, us: 20, process: "2", device: 1 },
  ];
  expect([...ordinalsByDuration(mangled({ rows })).values()]).toEqual([1, 1]);
});

it("a kernel without a mangled name cannot be found again", () => {
  expect(kernelsOf(madeTimeline({ rows: [{ name: "a", at: 0, us: 10 }] }))).toEqual([
    { kernel: "a", function: null, has_mangled: false, total_ns: 10_000, clusters: [] },
  ]);
});

import { expect, it } from "vitest";
import { askOf } from "../../workers/capture-ask.ts";
import { packed, unpacked } from "../../workers/rank-task.ts";

it("asks for no counter of patched code, and says so", () => {
  for (const known of [
    null,
    { names: new Set(["sass__inst_executed_local_loads", "gpu__time_duration"]), complete: true },
  ]) {
    const { metrics, notes } = askOf(known);
    expect(metrics).toContain("gpu__time_duration.sum");
    expect(metrics.filter((name) => name.startsWith("sass__"))).toEqual([]);
    expect(notes).toEqual([expect.stringContaining("patched code")]);
  }
  expect(askOf({ names: new Set(["gpu__time_duration"]), complete: true }).notes).toEqual([]);
});

it("packs a ranking and unpacks the same", () => {
  const launch = (mangled: string, ordinal: number) => ({ mangled, ordinal, duration_ns: 1000 + ordinal });
  const kernels = [
    {
      kernel: "f<int>",
      function: "f",
      has_mangled: true,
      total_ns: 5,
      clusters: [
        { grid: "1x1x1", block: "32x1x1", launches: [launch("_Z1fIiE", 1), launch("_Z1fIiE", 7)] },
        { grid: "2x1x1", block: "32x1x1", launches: [launch("_Z1fIlE", 2)] },
      ],
    },
    { kernel: "g", function: null, has_mangled: false, total_ns: 1, clusters: [] },
  ];
  const answer = packed(kernels);
  if (answer.kind !== "ranking") throw new Error("no ranking");
  expect(answer.names).toEqual(["_Z1fIiE", "_Z1fIlE"]);
  expect(unpacked(answer)).toEqual(kernels);
});

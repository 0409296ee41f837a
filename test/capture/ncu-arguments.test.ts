import { describe, expect, it } from "vitest";
import { kernelId, type NcuPlan, ncuArguments, shownArguments } from "../../src/capture/ncu/arguments.ts";
import { kernelFilter } from "../../src/capture/ncu/kernel-filter.ts";

const filter = kernelFilter("fma_chain");
const FMA = filter.ok ? filter.value : null;
const plan = (more: Partial<NcuPlan> = {}): NcuPlan => ({
  mode: "run",
  filter: FMA,
  launches: { kind: "first", skip: 0, count: 3 },
  counters: { kind: "set", set: "full", sections: [], metrics: [] },
  profileFromStart: true,
  cacheControl: "all",
  clockControl: "none",
  applyRules: true,
  process: null,
  port: null,
  output: "/d/report",
  logFile: "/d/ncu.log",
  program: ["/opt/w/tiny", "--token", "geheim"],
  ...more,
});

const START = ["--config-file", "off", "-f", "-o", "/d/report", "--log-file", "/d/ncu.log", "--replay-mode", "kernel"];
const END = ["--cache-control", "all", "--clock-control", "none", "--apply-rules", "yes", "--import-source", "no"];
const NAMES = ["--kernel-name-base", "function", "-k", "fma_chain"];
const PROGRAM = ["/opt/w/tiny", "--token", "geheim"];

describe("arguments of ncu", () => {
  it.each([
    [
      "run",
      {},
      ["--target-processes", "all", ...START, ...NAMES, "--launch-count", "3", "--set", "full", ...END, ...PROGRAM],
    ],
    [
      "a part of the processes, from cudaProfilerStart",
      { process: "python3.12", profileFromStart: false, applyRules: false, clockControl: "base", cacheControl: "none" },
      [
        ...[
          "--target-processes",
          "all",
          "--target-processes-filter",
          "python3.12",
          ...START,
          ...NAMES,
          "--launch-count",
          "3",
          "--set",
          "full",
        ],
        ...[
          "--profile-from-start",
          "off",
          "--cache-control",
          "none",
          "--clock-control",
          "base",
          "--apply-rules",
          "no",
          "--import-source",
          "no",
          ...PROGRAM,
        ],
      ],
    ],
    [
      "skipped launches",
      { launches: { kind: "first", skip: 4, count: 1 } },
      [
        "--target-processes",
        "all",
        ...START,
        ...NAMES,
        "--launch-skip",
        "4",
        "--launch-count",
        "1",
        "--set",
        "full",
        ...END,
        ...PROGRAM,
      ],
    ],
    [
      "one of each shape",
      { launches: { kind: "per_config", count: 1 }, filter: null },
      [
        "--target-processes",
        "all",
        ...START,
        "--filter-mode",
        "per-launch-config",
        "--launch-count",
        "1",
        "--set",
        "full",
        ...END,
        ...PROGRAM,
      ],
    ],
    [
      "all",
      { launches: { kind: "all" }, filter: null },
      ["--target-processes", "all", ...START, "--set", "full", ...END, ...PROGRAM],
    ],
    [
      "chosen launches",
      { launches: { kind: "ordinals", names: ["fma_chain"], ordinals: [9, 1, 5, 1] } },
      [
        "--target-processes",
        "all",
        ...START,
        "--kernel-name-base",
        "function",
        "--kernel-id",
        "::regex:^(fma_chain)$:^(1|5|9)$",
        "--set",
        "full",
        ...END,
        ...PROGRAM,
      ],
    ],
    [
      "sections and metrics",
      { counters: { kind: "set", set: "", sections: ["SpeedOfLight", "Occupancy"], metrics: ["a", "b"] } },
      [
        "--target-processes",
        "all",
        ...START,
        ...NAMES,
        "--launch-count",
        "3",
        "--section",
        "SpeedOfLight",
        "--section",
        "Occupancy",
        "--metrics",
        "a,b",
        ...END,
        ...PROGRAM,
      ],
    ],
    [
      "metrics alone",
      { counters: { kind: "metrics", metrics: ["gpu__time_duration.sum"] } },
      [
        "--target-processes",
        "all",
        ...START,
        ...NAMES,
        "--launch-count",
        "3",
        "--metrics",
        "gpu__time_duration.sum",
        ...END,
        ...PROGRAM,
      ],
    ],
    [
      "launch",
      { mode: "launch" },
      ["--mode", "launch", "--config-file", "off", "--target-processes", "all", ...PROGRAM],
    ],
    [
      "launch at a port",
      { mode: "launch", port: 50_000 },
      ["--mode", "launch", "--config-file", "off", "--port", "50000", "--target-processes", "all", ...PROGRAM],
    ],
    [
      "attach",
      { mode: "attach", program: [] },
      [
        "--mode",
        "attach",
        "--hostname",
        "127.0.0.1",
        ...START,
        ...NAMES,
        "--launch-count",
        "3",
        "--set",
        "full",
        ...END,
      ],
    ],
    [
      "attach to one, for no launch",
      {
        mode: "attach",
        program: [],
        port: 49_153,
        launches: { kind: "none" },
        counters: { kind: "metrics", metrics: ["launch__grid_size"] },
        process: "python",
      },
      [
        ...["--mode", "attach", "--hostname", "127.0.0.1", "--port", "49153", "--max-connections", "2", ...START],
        ...[
          "--kernel-name-base",
          "function",
          "-k",
          "profile_kernel_matches_no_kernel",
          "--metrics",
          "launch__grid_size",
          ...END,
        ],
      ],
    ],
  ] as [string, Partial<NcuPlan>, string[]][])("%s", (_, more, expected) => {
    expect(ncuArguments(plan(more))).toEqual(expected);
  });

  it.each([[[]], [[""]], [["--version"]], [["-c"]]])("refuse %j as a program", (program) => {
    expect(() => ncuArguments(plan({ program }))).toThrow(/expected a program/);
  });

  it("show the options, and of the program its name only", () => {
    const shown = shownArguments("/opt/ncu", plan());
    expect(shown[0]).toBe("/opt/ncu");
    expect(shown.slice(-3)).toEqual(["no", "tiny", "…"]);
    expect(shown.join(" ")).not.toContain("geheim");
    expect(shownArguments("/opt/ncu", plan({ mode: "attach", program: [] })).at(-1)).toBe("no");
    expect(shownArguments("/opt/ncu", plan({ program: ["/a/b"] })).at(-1)).toBe("b");
  });
});

describe("--kernel-id", () => {
  it("counts launches of mangled names where they are given", () => {
    const launches = {
      kind: "ordinals",
      names: ["_Z1kv", "_Z1mILi3EEvPf"],
      ordinals: [7, 1],
      base: "mangled",
    } as const;
    const args = ncuArguments(plan({ launches }));
    const at = args.indexOf("--kernel-name-base");
    expect(args.slice(at, at + 4)).toEqual([
      "--kernel-name-base",
      "mangled",
      "--kernel-id",
      "::regex:^(_Z1kv|_Z1mILi3EEvPf)$:^(1|7)$",
    ]);
  });

  it.each([
    [["fma_chain"], [2], "::fma_chain:2"],
    [["fma_chain"], [1, 11], "::regex:^(fma_chain)$:^(1|11)$"],
    [["b", "a", "b"], [3], "::regex:^(b|a)$:3"],
    [["operator::call", "k.x"], [1, 2], "::regex:^(operator..call|k\\.x)$:^(1|2)$"],
  ])("%j %j", (names, ordinals, expected) => expect(kernelId(names, ordinals)).toBe(expected));

  it("takes the first and not the eleventh", () => {
    const expression = new RegExp(kernelId(["k"], [1, 3]).split(":").at(-1) ?? "");
    expect([1, 3, 11, 13, 31].filter((n) => expression.test(String(n)))).toEqual([1, 3]);
  });

  it.each([
    [["k"], []],
    [["k"], [0]],
    [["k"], [1.5]],
    [[], [1]],
    [[""], [1]],
  ] as [string[], number[]][])("refuses %j %j", (names, ordinals) => {
    expect(() => kernelId(names, ordinals)).toThrow(RangeError);
  });
});

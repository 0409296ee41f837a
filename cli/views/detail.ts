import { significant } from "../../src/charts/format.ts";
import { shortKernelName } from "../../src/charts/kernel-name.ts";
import { precisionName } from "../../src/charts/roofline-model.ts";
import { visibleText } from "../../src/charts/visible-text.ts";
import type { KernelResult, Limiter } from "../../src/model/result.ts";
import { adviceFor, hintSentences, limitNames, nextStepSentence } from "../advice.ts";
import {
  counted,
  formatBytes,
  formatClock,
  formatCount,
  formatIntensity,
  formatPercent,
  formatRate,
  formatShare,
  formatTflops,
  formatTime,
  MISSING,
  orMissing,
} from "../format.ts";
import { pairs, paragraph, table } from "../layout.ts";
import { paint, type Terminal } from "../terminal.ts";
import { findingsView } from "./findings.ts";
import { header } from "./header.ts";
import { CLASS_STYLES, reasonFor } from "./kernel-cells.ts";
import type { ViewOptions } from "./ranking.ts";

/** Names of the resources as they stand in a sentence. */
const RESOURCES: Readonly<Record<Limiter, string>> = {
  tensor: "the tensor cores",
  fma: "the FMA pipe",
  fp64: "the FP64 pipe",
  alu: "the ALU pipe",
  issue: "the issue slots",
  lsu: "the load/store path",
  l1_shared: "L1 and shared memory",
  l2: "L2",
  dram: "DRAM",
  nvlink: "NVLink",
  latency: "latency",
  tail: "the last wave of blocks",
  imbalance: "unequal work of the SMs",
  launch: "the launch itself",
  unknown: "a cause that the counters do not show",
};

/** One kernel for people: the verdict in a sentence, then the numbers behind it, then what to do and what to doubt. */
export function detailView(terminal: Terminal, result: KernelResult, options: ViewOptions): string[] {
  const { display } = result.detail.names;
  const name = options.fullNames ? visibleText(display) : shortKernelName(display);
  const style = result.roofline === null ? "dim" : CLASS_STYLES[result.roofline];
  const section: Section = (title, lines) => (lines.length === 0 ? [] : ["", paint(terminal, "bold", title), ...lines]);
  return [
    ...header(terminal, result, options.inputs, options.timelines),
    "",
    ...paragraph(terminal, "", name, "bold"),
    ...paragraph(terminal, "", verdictSentence(result), style),
    ...(result.optimization_headroom === null
      ? []
      : paragraph(terminal, "", `Headroom: ${visibleText(result.optimization_headroom)}.`)),
    ...section(
      "Where to look next",
      adviceFor(result).flatMap((advice) => paragraph(terminal, "  - ", advice)),
    ),
    ...(result.detail.launch !== null && result.detail.launch.failure === null
      ? measured(terminal, result, section)
      : []),
    ...section("Also matched", otherLines(terminal, result)),
    "",
    ...findingsView(terminal, result),
    ...sourceLines(terminal, result),
  ];
}

type Section = (title: string, lines: readonly string[]) => string[];

/** The numbers; a launch that failed has none. */
function measured(terminal: Terminal, result: KernelResult, section: Section): string[] {
  return [
    ...section("Time", pairs(terminal, timeRows(result))),
    ...section("Compute", pairs(terminal, computeRows(result))),
    ...section("Memory", memoryLines(terminal, result)),
    ...section("Warp stalls", stallLines(terminal, result)),
    ...section("Occupancy", occupancyLines(terminal, result)),
    ...section("Shapes and clusters", clusterLines(terminal, result)),
    ...section("Rules of Nsight Compute (its own estimates; they overlap)", hintLines(terminal, result)),
  ];
}

/** The verdict with the two numbers it rests on. */
export function verdictSentence(result: KernelResult): string {
  const { detail } = result;
  const memory = `DRAM ${orMissing(result.memory_bw_utilization, formatPercent)}`;
  const compute = `compute ${orMissing(detail.compute_utilization, formatPercent)}`;
  const resource = RESOURCES[detail.limiter];
  if (result.roofline === null) {
    return `No verdict: ${visibleText(detail.roofline_null_reason ?? "the counters cannot carry one")}. ${memory}, ${compute} of the peak.`;
  }
  const missing = detail.roofline_null_reason === null ? "" : ` (${visibleText(detail.roofline_null_reason)})`;
  if (result.roofline === "latency-bound") {
    return detail.near
      ? `Latency-bound by the 80% rule, but near the roof of ${resource}: ${memory}, ${compute} of the peak${missing}.`
      : `Latency-bound by ${resource}: neither DRAM nor compute is near its peak (${memory}, ${compute})${missing}.`;
  }
  const numbers =
    result.roofline === "memory-bound" ? `${memory} of the peak, ${compute}` : `${compute} of the peak, ${memory}`;
  return `${result.roofline === "memory-bound" ? "Memory-bound" : "Compute-bound"} by ${resource}: ${numbers}${missing}.`;
}

type Row = readonly [string, string];

/** Why a field is null, in brackets behind the dash. */
const reason = (result: KernelResult, path: string): string => `${MISSING} (${visibleText(reasonFor(result, path))})`;

function timeRows(result: KernelResult): Row[] {
  const { timing, share_of_report: share, launch } = result.detail;
  const rows: Row[] = [
    ["one launch", result.wall_clock_us === null ? reason(result, "wall_clock_us") : formatTime(result.wall_clock_us)],
  ];
  if (timing.n > 1) {
    const spread = [
      ["median", timing.median_us],
      ["p90", timing.p90_us],
      ["min", timing.min_us],
      ["max", timing.max_us],
    ] as const;
    rows.push([
      counted(timing.n, "launch", "launches"),
      `${orMissing(timing.total_us, formatTime)} in all; ${spread.map(([label, value]) => `${label} ${orMissing(value, formatTime)}`).join(", ")}`,
    ]);
  }
  if (result.fraction_of_pipeline !== null)
    rows.push(["share", `${formatShare(result.fraction_of_pipeline)} of the GPU's busy time`]);
  if (share !== null) rows.push(["share", `${formatShare(share)} of the kernel time in the reports`]);
  if (launch !== null) {
    rows.push([
      "numbers from",
      `launch ${launch.index}${launch.nvtx.length === 0 ? "" : `, range ${visibleText(launch.nvtx.join(" / "))}`}`,
    ]);
  }
  if (launch !== null && launch.grid !== null && launch.block !== null) {
    rows.push(["grid, block", `${launch.grid.join(" x ")}, ${launch.block.join(" x ")}${wavesText(result)}`]);
  }
  const {
    sm_clock_hz: sm,
    sm_clock_max_hz: smLimit,
    dram_clock_hz: dram,
    dram_clock_max_hz: dramLimit,
  } = result.detail;
  const clocks = [
    sm === null ? null : `SM ${formatClock(sm)}${smLimit === null ? "" : ` of ${formatClock(smLimit)}`}`,
    dram === null ? null : `DRAM ${formatClock(dram)}${dramLimit === null ? "" : ` of ${formatClock(dramLimit)}`}`,
  ].filter((text) => text !== null);
  if (clocks.length > 0) rows.push(["clocks", clocks.join(", ")]);
  return rows;
}

const wavesText = ({ detail: { waves_per_sm: waves } }: KernelResult): string =>
  waves === null ? "" : ` (${waves.toFixed(2)} waves per SM)`;

function computeRows(result: KernelResult): Row[] {
  const { detail } = result;
  const rows: Row[] = [
    [
      "compute",
      detail.compute_utilization === null
        ? reason(result, "detail.compute_utilization")
        : `${formatPercent(detail.compute_utilization)} of the peak${basisText(detail.compute_basis)}${detail.compute_utilization_set_by.length === 0 ? "" : `, set by ${detail.compute_utilization_set_by.join(", ")}`}`,
    ],
  ];
  const achieved = Object.entries(detail.tflops_by_precision ?? {}).sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
  for (const [precision, tflops] of achieved) {
    const peak = detail.peak_tflops_by_precision?.[precision];
    const of =
      peak === undefined
        ? ""
        : ` of ${formatTflops(peak.tflops)} (${peak.estimated ? "published peak" : "peak at this clock"})`;
    rows.push([
      precisionName(precision),
      `${formatTflops(tflops)} ${precision.startsWith("int") ? "TOPS" : "TFLOPS"}${of}`,
    ]);
  }
  if (achieved.length === 0) {
    rows.push(["TFLOPS", reason(result, "tflops")]);
  }
  if (detail.arithmetic_intensity_flop_per_byte !== null) {
    const ridge = detail.ridge_point_flop_per_byte;
    rows.push([
      "intensity",
      `${formatIntensity(detail.arithmetic_intensity_flop_per_byte)} FLOP/byte${ridge === null ? "" : `, ridge at ${formatIntensity(ridge)}`}`,
    ]);
  }
  if (detail.issue_slot_utilization !== null)
    rows.push(["issue slots", `${formatPercent(detail.issue_slot_utilization)} used`]);
  if (detail.imbalance !== null)
    rows.push(["imbalance", `the average SM had no work for ${formatPercent(detail.imbalance)} of the launch`]);
  return rows;
}

const basisText = (basis: string | null): string =>
  basis === "lower_bound" ? " (lower bound)" : basis === "estimated" ? " (published peak)" : "";

function memoryLines(terminal: Terminal, result: KernelResult): string[] {
  const { memory } = result.detail;
  const levels = memory.levels.filter(({ bytes_per_s: rate, utilization: used }) => rate !== null || used !== null);
  const rows = levels.map((level) => [
    { text: level.level.toUpperCase() },
    { text: orMissing(level.bytes_per_s, formatRate) },
    { text: orMissing(level.peak_bytes_per_s, formatRate) },
    { text: orMissing(level.utilization, formatPercent) },
    { text: orMissing(level.hit_rate, formatPercent) },
    { text: orMissing(level.arithmetic_intensity_flop_per_byte, formatIntensity) },
  ]);
  const columns = ["traffic", "peak", "used", "hit rate", "FLOP/byte"].map((title) => ({
    title,
    align: "right" as const,
  }));
  const l1Counted = levels.some(({ level, bytes_per_s: rate }) => level === "l1" && rate !== null);
  return [
    ...(rows.length === 0
      ? []
      : table(terminal, [{ title: "", align: "left" }, ...columns], rows).map((line) => `  ${line}`)),
    ...(l1Counted ? paragraph(terminal, "  ", L1_NOTE, "dim") : []),
    ...pairs(terminal, [
      ...both("DRAM bytes", "read", memory.dram_bytes_read, "written", memory.dram_bytes_written, formatBytes),
      ...both(
        "sectors/request",
        "load",
        memory.sectors_per_request_load,
        "store",
        memory.sectors_per_request_store,
        significant,
      ),
    ]),
  ];
}

const L1_NOTE = "L1 counts what loads return to registers; copies by TMA and cp.async pass it uncounted.";

/** Two numbers of one kind in a row; no row where neither was measured. */
function both(
  label: string,
  first: string,
  a: number | null,
  second: string,
  b: number | null,
  format: (value: number) => string,
): Row[] {
  return a === null && b === null
    ? []
    : [[label, `${first} ${orMissing(a, format)}, ${second} ${orMissing(b, format)}`]];
}

const BAR = 30;
/** Stall groups below this are noise in a picture. */
const SMALLEST_STALL = 0.01;

function stallLines(terminal: Terminal, result: KernelResult): string[] {
  const shares = result.warp_stall_reasons;
  if (shares === null) return paragraph(terminal, "  ", reason(result, "warp_stall_reasons"));
  return Object.entries(shares)
    .filter(([, share]) => share >= SMALLEST_STALL)
    .map(([group, share]) => {
      const bar = "█".repeat(Math.max(1, Math.round(Math.min(1, share) * BAR)));
      return `  ${formatPercent(share).padStart(4)}  ${paint(terminal, "cyan", bar.padEnd(BAR))}  ${visibleText(group).replaceAll("_", " ")}`;
    });
}

function occupancyLines(terminal: Terminal, result: KernelResult): string[] {
  const { occupancy, shared_memory: shared, registers } = result.detail;
  const limits = Object.entries(occupancy.limits_blocks).flatMap(([name, blocks]) =>
    blocks == null ? [] : [`${name.replace("shared_mem", "shared memory")} ${formatCount(blocks)}`],
  );
  const rows: Row[] = [
    [
      "achieved",
      result.sm_occupancy === null
        ? reason(result, "sm_occupancy")
        : `${formatShare(result.sm_occupancy)} of ${orMissing(occupancy.theoretical, formatShare)} theoretical`,
    ],
    ["limited by", limitedBy(result)],
    ...(limits.length === 0 ? [] : [["blocks per SM", `at most: ${limits.join(", ")}`] as const]),
    [
      "registers",
      `${orMissing(registers.per_thread, formatCount)} per thread${registers.spill_instructions ? `, ${counted(registers.spill_instructions, "spill instruction")}` : ""}`,
    ],
    [
      "shared memory",
      `${orMissing(result.shared_memory_usage_bytes, formatBytes)} per block (${orMissing(shared.static_bytes, formatBytes)} static, ${orMissing(shared.dynamic_bytes, formatBytes)} dynamic)`,
    ],
    ...(!shared.bank_conflict_share
      ? []
      : [["bank conflicts", `${formatShare(shared.bank_conflict_share)} of the wavefronts`] as const]),
    ...(occupancy.theoretical === null ? [] : [["next step", nextStep(result)] as const]),
  ];
  return pairs(terminal, rows);
}

function limitedBy(result: KernelResult): string {
  const { limiters, theoretical } = result.detail.occupancy;
  if (limiters.length > 0) return limitNames(limiters);
  return theoretical === null
    ? reason(result, "detail.occupancy.theoretical")
    : "nothing: as many warps as the SM takes";
}

const nextStep = (result: KernelResult): string =>
  nextStepSentence(result) ?? `none: ${visibleText(reasonFor(result, "detail.occupancy.next_step"))}`;

/** Only where there is more than one: a single cluster is the whole kernel. */
function clusterLines(terminal: Terminal, result: KernelResult): string[] {
  const clusters = result.detail.shapes.flatMap((shape) => shape.clusters.map((cluster) => ({ shape, cluster })));
  if (clusters.length < 2) return [];
  const rows = clusters.map(({ shape, cluster }) => [
    { text: `${shape.grid?.join("x") ?? MISSING} / ${shape.block?.join("x") ?? MISSING}` },
    { text: cluster.roofline?.replace("-bound", "") ?? MISSING },
    { text: cluster.limiter },
    { text: String(cluster.timing.n) },
    { text: orMissing(cluster.timing.median_us, formatTime) },
    { text: orMissing(cluster.share_of_kernel, formatShare) },
    { text: orMissing(cluster.memory_bw_utilization, formatPercent) },
    { text: orMissing(cluster.compute_utilization, formatPercent) },
  ]);
  return table(
    terminal,
    [
      { title: "grid / block", align: "left", flexible: true },
      { title: "bound", align: "left" },
      { title: "limiter", align: "left" },
      { title: "n", align: "right" },
      { title: "median", align: "right" },
      { title: "of kernel", align: "right" },
      { title: "BW", align: "right" },
      { title: "SM", align: "right" },
    ],
    rows,
  );
}

const MOST_HINTS = 6;

function hintLines(terminal: Terminal, result: KernelResult): string[] {
  return hintSentences(result.detail.hints, MOST_HINTS).flatMap((sentence) =>
    paragraph(terminal, "  - ", visibleText(sentence)),
  );
}

const MOST_OTHERS = 10;

function otherLines(terminal: Terminal, result: KernelResult): string[] {
  const shown = result.others.slice(0, MOST_OTHERS);
  const rest = result.others.length - shown.length;
  return [
    ...shown.flatMap((other) =>
      paragraph(
        terminal,
        "  - ",
        `${shortKernelName(other.name_key)}: ${other.roofline ?? "no verdict"}, ${counted(other.launches, "launch", "launches")}, ${orMissing(other.total_us, formatTime)}`,
      ),
    ),
    ...(rest > 0 ? [`  and ${rest} more`] : []),
  ];
}

/** Fields whose counters a reader asks for first. */
const SOURCES = ["wall_clock_us", "memory_bw_utilization", "compute_utilization", "tflops", "sm_occupancy"];

function sourceLines(terminal: Terminal, result: KernelResult): string[] {
  const rows = SOURCES.flatMap((field): Row[] => {
    const source = result.detail.sources[field] ?? result.detail.sources[`detail.${field}`];
    return source === undefined ? [] : [[field, visibleText(`launch ${source.launch}: ${source.metrics.join(", ")}`)]];
  });
  const missing = result.detail.missing_metrics;
  if (rows.length === 0 && missing.length === 0) return [];
  return [
    paint(terminal, "bold", "Sources"),
    ...pairs(terminal, rows),
    ...(missing.length === 0
      ? []
      : paragraph(
          terminal,
          "  ",
          visibleText(
            `not in the report: ${missing.slice(0, 8).join(", ")}${missing.length > 8 ? ` and ${missing.length - 8} more (--json)` : ""}`,
          ),
          "dim",
        )),
    "",
  ];
}

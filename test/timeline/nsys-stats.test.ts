import { describe, expect, it } from "vitest";
import { openBuffer } from "../../src/base/file-source.ts";
import type { ReadFailure } from "../../src/model/report.ts";
import { DEFAULT_TIMELINE_LIMITS, type Timeline } from "../../src/model/timeline.ts";
import { isNsysStats, readNsysStats } from "../../src/timeline/nsys-stats/index.ts";
import { fixture } from "../helpers/fixtures.ts";
import { integrityFaults, totals, union } from "./nsys-files.ts";

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

async function read(text: string | Uint8Array, limits = DEFAULT_TIMELINE_LIMITS): Promise<Timeline> {
  const bytes = typeof text === "string" ? bytesOf(text) : text;
  const result = await readNsysStats(openBuffer(bytes), "none", limits);
  if (!result.ok) throw new Error(`${result.error.code}: ${result.error.message}`);
  expect(isNsysStats(bytes)).toBe(true);
  expect(integrityFaults(result.value)).toEqual([]);
  return result.value;
}

async function refusal(text: string): Promise<ReadFailure> {
  const result = await readNsysStats(openBuffer(bytesOf(text)), "none", DEFAULT_TIMELINE_LIMITS);
  if (result.ok) throw new Error("was read");
  return result.error;
}

const sumsOf = ({ sums, names }: Timeline): Record<string, readonly [number, number]> =>
  Object.fromEntries((sums ?? []).map(({ name, launches, total_ns }) => [names[name]?.display, [launches, total_ns]]));

const HEADER = "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name";
const SUM = `${HEADER}
60.0,600,3,200.0,200.0,100,300,81.6,"void k<int, 4>(int *, ""x"")"
40.0,400,2,200.0,200.0,150,250,70.7,plain_kernel
`;
const TRACE_HEADER =
  "Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (B),DymSMem (B),Bytes (B),Throughput (MB/s),SrcMemKd,DstMemKd,Device,Ctx,GreenCtx,Strm,Name";

describe("a recording printed twice in one text (nsys 2025.3.2)", () => {
  const text = fixture("timelines/tiny-collective.nsys-stats.txt");

  it("the trace says most and agrees with the summary", async () => {
    const timeline = await read(text);
    expect(timeline).toMatchObject({ format: "nsys-stats-trace", has_starts: true, tick_ns: 1, sums: null });
    expect(totals(timeline, "kernel")).toMatchObject({ count: 22, ns: 7_585_317 });
    expect(union(timeline, ["kernel"])).toBe(7_582_245);
    expect(union(timeline, ["kernel", "memcpy", "memset"])).toBe(16_418_887);
    expect([...totals(timeline, "memcpy").names]).toEqual([["[CUDA memcpy Host-to-Device]", [1, 8_714_882]]]);
    expect(timeline.gpus).toMatchObject([{ index: 0, name: "NVIDIA H200" }]);
    expect(timeline.lanes.map(({ device, stream }) => `${device}/${stream}`).sort()).toEqual([
      "0/13",
      "0/14",
      "0/15",
      "0/7",
    ]);
    const { recording } = timeline;
    expect(recording).toMatchObject({
      has_kernel_table: true,
      launch_calls: null,
      shared_correlations: null,
      dropped: [],
    });
  });

  it("the summary alone gives sums and no rows", async () => {
    const timeline = await read(text.toString().split("\n\n")[0] ?? "");
    expect(timeline).toMatchObject({ format: "nsys-stats-sum", has_starts: false });
    expect(timeline.rows.count).toBe(0);
    const all = (timeline.sums ?? []).reduce((sum, { total_ns }) => sum + total_ns, 0);
    expect(all).toBe(7_585_317);
    expect(timeline.sums?.[0]).toMatchObject({
      launches: 4,
      total_ns: 4_614_768,
      mean_ns: 1_153_692,
      median_ns: 1_153_308,
      min_ns: 1_151_996,
      max_ns: 1_156_156,
      stddev_ns: 1847,
    });
  });
});

describe("summaries", () => {
  it("names with quotes and commas", async () => {
    expect(sumsOf(await read(SUM))).toEqual({ 'void k<int, 4>(int *, "x")': [3, 600], plain_kernel: [2, 400] });
  });

  it.each([
    ["ns", 600, 0],
    ["us", 0.6, 1],
    ["ms", 0.0006, 1],
    ["s", 0.0000006, 1],
  ])("units stand in the header: %s", async (unit, total) => {
    const header = HEADER.replaceAll("(ns)", `(${unit})`);
    const timeline = await read(
      `${header}\n100.0,${total.toFixed(7)},3,0.2000000,0.2000000,0.1000000,0.3000000,0.0,k\n`,
    );
    expect(sumsOf(timeline)).toEqual({ k: [3, 600] });
  });

  it("one name in several rows, one for each grid, is one sum", async () => {
    const timeline = await read(
      "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),GridXYZ,BlockXYZ,Name\n" +
        "60.0,600,3,200.0,200.0,100,300,81.6,   4    1    1, 256    1    1,k\n40.0,400,1,400.0,400.0,400,400,0.0,   8    1    1, 256    1    1,k\n",
    );
    expect(timeline.sums).toEqual([
      {
        name: 0,
        launches: 4,
        total_ns: 1000,
        mean_ns: 250,
        median_ns: null,
        min_ns: 100,
        max_ns: 400,
        stddev_ns: null,
      },
    ]);
  });

  it("the columns of 2020, without units and median", async () => {
    const timeline = await read(
      "Time(%),Total Time (ns),Instances,Average,Minimum,Maximum,Name\n100.0,600,3,200.0,100,300,k\n",
    );
    expect(timeline.sums?.[0]).toMatchObject({ mean_ns: 200, median_ns: null, stddev_ns: null });
  });

  it("summaries of other things are not taken for kernels", async () => {
    const api = "Time (%),Total Time (ns),Num Calls,Avg (ns),Name\n100.0,900,9,100.0,cudaMalloc\n\n";
    const ranges = "Time (%),Total Time (ns),Instances,Avg (ns),Style,Range\n100.0,900,9,100.0,PushPop,:step\n\n";
    const memory = "Time (%),Total Time (ns),Count,Avg (ns),Operation\n100.0,900,9,100.0,[CUDA memset]\n\n";
    const both = "Time (%),Total Time (ns),Instances,Avg (ns),Category,Operation\n100.0,900,9,100.0,CUDA_KERNEL,k\n\n";
    expect(sumsOf(await read(api + ranges + SUM + memory + both))).toMatchObject({ plain_kernel: [2, 400] });
    expect(await refusal(api + ranges + memory + both)).toMatchObject({ code: "wrong_kind" });
  });

  it("with tabs, with semicolons and decimal commas, as UTF-16", async () => {
    expect(sumsOf(await read(SUM.replaceAll(/,(?! )/g, "\t")))).toMatchObject({ plain_kernel: [2, 400] });
    const european = `${HEADER.replaceAll(",", ";")}\n100,0;1.234.567;1.234;1000,5;1000,0;1.000;2.000;0,0;k\n`;
    expect(sumsOf(await read(european))).toEqual({ k: [1234, 1_234_567] });
    const utf16 = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(SUM.replaceAll("\n", "\r\n"), "utf16le")]);
    expect(sumsOf(await read(utf16))).toMatchObject({ plain_kernel: [2, 400] });
  });

  it("damaged rows are counted, not guessed", async () => {
    const timeline = await read(
      `${SUM}30.0,300,torn\n20.0,x,1,1.0,1.0,1,1,0.0,bad\n10.0,100,1,100.0,100.0,100,100,0.0,good\n`,
    );
    expect(sumsOf(timeline)).toMatchObject({ good: [1, 100] });
    expect(Object.keys(sumsOf(timeline))).toHaveLength(3);
    expect(timeline.recording.dropped).toEqual([
      { reason: "malformed", count: 2, first: expect.stringContaining("line 1") },
    ]);
  });

  it("a name over two lines", async () => {
    const timeline = await read(`${HEADER}\n100.0,600,3,200.0,200.0,100,300,81.6,"k<\n1>(int)"\n`);
    expect(Object.keys(sumsOf(timeline))).toEqual(["k<\n1>(int)"]);
  });
});

describe("output of --stats=true", () => {
  const columns = (rows: readonly (readonly string[])[], first = 1): string => {
    const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
    const line = (row: readonly string[]): string =>
      " ".repeat(first) +
      row
        .map((cell, at) => (at === row.length - 1 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)))
        .join("  ");
    const rule = line(widths.map((width) => "-".repeat(width)));
    return [line(rows[0] ?? []), rule, ...rows.slice(1).map(line)].join("\n");
  };
  const kernels = columns([
    ["Time (%)", "Total Time (ns)", "Instances", "Avg (ns)", "Med (ns)", "Min (ns)", "Max (ns)", "StdDev (ns)", "Name"],
    ["75.0", "3,481,709", "1,024", "3,400.1", "3,400.0", "3,000", "4,000", "0.0", "void k<int>(int *, float)"],
    ["25.0", "182,472", "1", "182,472.0", "182,472.0", "182,472", "182,472", "0.0", "[weird]  name"],
  ]);
  const ranges = columns([
    ["Time (%)", "Total Time (ns)", "Instances", "Avg (ns)", "Style", "Range"],
    ["95.0", "3,481,709", "1", "3,481,709.0", "PushPop", "loop"],
  ]);

  it("numbers with thousands; other tables, progress bars and program output around", async () => {
    const text = `Done.\n[1/8] [0%   ]\r[1/8] [==100%] x.nsys-rep\n[3/8] Executing 'nvtx_sum' stats report\n\n${ranges}\n\n[6/8] Executing 'cuda_gpu_kern_sum' stats report\n\n${kernels}\nReport file moved to "/home/x/report1.nsys-rep"\n`;
    const timeline = await read(text);
    expect(sumsOf(timeline)).toEqual({ "void k<int>(int *, float)": [1024, 3_481_709], "[weird]  name": [1, 182_472] });
    expect(timeline.recording.dropped).toEqual([]);
  });

  it("with decimal commas", async () => {
    const text = `CUDA Kernel Statistics:\r\n\r\n${kernels.replace(/[,.](?=\d)/g, (mark) => (mark === "," ? "." : ",")).replaceAll("\n", "\r\n")}\r\n`;
    expect(sumsOf(await read(text))).toMatchObject({ "[weird]  name": [1, 182_472] });
  });

  it("a number format that nothing settles is refused, and so are two in one text", async () => {
    const table = columns([
      ["Total Time (ns)", "Instances", "Name"],
      ["744.226", "9", "k"],
    ]);
    expect(await refusal(table)).toMatchObject({ code: "malformed", hint: expect.stringContaining("LC_ALL=C") });
    const other = table.replace("744.226", "744,5  ").replace("k", "l");
    expect(await refusal(`${table.replace("744.226", "744.5  ")}\n\n${other}`)).toMatchObject({ code: "malformed" });
  });

  it("several recordings in one text are refused, with how many", async () => {
    const second = kernels.replace("182,472 ", "182,473 ");
    expect(await refusal(`${kernels}\n\n${second}\n\n${kernels}\n`)).toMatchObject({
      code: "wrong_kind",
      evidence: { found: "several_reports_in_one_text", reports: 2 },
    });
    expect(
      await refusal(`${SUM}\n${SUM.replace("plain_kernel", "plain_kernel2").replace(",400,2,", ",401,2,")}`),
    ).toMatchObject({
      evidence: { reports: 2 },
    });
    expect(sumsOf(await read(`${kernels}\n\n${kernels}\n`))).toMatchObject({ "[weird]  name": [1, 182_472] });
  });

  it("nothing recorded: no kernel table, and not a sum of zeros", async () => {
    const timeline = await read(
      "Processing [x.sqlite] with [/opt/nsys/reports/cuda_gpu_kern_sum.py]...\nSKIPPED: x.sqlite does not contain CUDA kernel data.\n",
    );
    expect(timeline.recording.has_kernel_table).toBe(false);
    expect(timeline.sums).toEqual([]);
    const other = "SKIPPED: x.sqlite does not contain NV Tools Extension (NVTX) data.\n";
    expect(await refusal(other)).toMatchObject({ code: "wrong_kind" });
  });
});

describe("traces", () => {
  const row = (start: string, duration: string, rest = "NVIDIA H200 (0),1,,7,k"): string =>
    `${start},${duration},121,4,1,1,256,1,1,20,1024,2048,,,,,${rest}\n`;

  it("shapes, devices, streams, contexts and copies", async () => {
    const copy = (name: string): string =>
      `5000,100,3,,,,,,,,,,4096,1.5,Pageable,Device,NVIDIA H200 (1),1,,13,${name}\n`;
    const timeline = await read(
      `${TRACE_HEADER}\n${row("1000", "10")}${row("1005", "10", "NVIDIA H200 (0),2,,7,k")}${copy("[CUDA memcpy HtoD]")}${copy("[CUDA Unified Memory memcpy DtoH]")}${copy("[CUDA memset]")}`,
    );
    expect(timeline.shapes).toEqual([
      { grid: [4, 1, 1], block: [256, 1, 1], shared_memory_bytes: 3072, registers_per_thread: 20 },
    ]);
    expect(timeline.lanes.map(({ device, stream }) => [device, stream])).toEqual([
      [0, "7 (context 1)"],
      [0, "7 (context 2)"],
      [1, "13"],
      [1, null],
    ]);
    expect([...totals(timeline, "memcpy").names.keys()]).toEqual([
      "[CUDA memcpy Host-to-Device]",
      "[CUDA memcpy Unified Device-to-Host]",
    ]);
    expect(totals(timeline, "memset")).toMatchObject({ count: 1, bytes: 4096 });
    expect(timeline.recording.managed_copies).toBe(1);
    expect(timeline.gpus.map(({ index }) => index)).toEqual([0, 1]);
  });

  it("starts of whole seconds order nothing; durations count", async () => {
    const header = TRACE_HEADER.replace("Start (ns)", "Start(sec)").replace("Duration (ns)", "Duration(nsec)");
    const timeline = await read(`${header}\n${row("0.000000", "96384")}${row("1.000000", "97057")}`);
    expect(timeline).toMatchObject({ has_starts: false, tick_ns: 1 });
    expect(totals(timeline, "kernel")).toMatchObject({ count: 2, ns: 193_441 });
    const fine = await read(`${header}\n${row("0.000001", "1000")}${row("1.000003", "3000")}`);
    expect(fine).toMatchObject({ has_starts: true, tick_ns: 1000 });
    expect([...fine.rows.start_ns]).toEqual([1000, 1_000_003_000]);
  });

  it("negative durations and torn rows are dropped and counted", async () => {
    const timeline = await read(`${TRACE_HEADER}\n${row("1000", "10")}${row("2000", "-5")}3000,10,1\n`);
    expect(timeline.rows.count).toBe(1);
    expect(timeline.recording.dropped.map(({ reason, count }) => [reason, count])).toEqual([
      ["ends_before_start", 1],
      ["malformed", 1],
    ]);
  });

  it("more rows than the limit are refused", async () => {
    const limits = { ...DEFAULT_TIMELINE_LIMITS, maxRows: 1 };
    await expect(read(`${TRACE_HEADER}\n${row("1000", "10")}${row("2000", "5")}`, limits)).rejects.toThrow(/too_large/);
  });
});

describe("what is no output of nsys", () => {
  it.each([
    ["a page of ncu", '"ID","Process ID","Kernel Name","Metric Name","Metric Value"\n'],
    ["JSON", '{"traceEvents": []}'],
    ["prose", "name, total time and instances\n---- ----\n"],
    ["nothing", ""],
  ])("%s", (_name, text) => {
    expect(isNsysStats(bytesOf(text))).toBe(false);
  });
});

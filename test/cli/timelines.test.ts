import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { pipelineResultSchema } from "../../src/model/result.ts";
import { cli } from "../helpers/cli.ts";
import { fixturePath, H200 } from "../helpers/fixtures.ts";

const PIPELINE = fixturePath("timelines/h200-pipeline.nsys.sqlite.gz");
const TINY = fixturePath("timelines/tiny-collective.nsys.sqlite.gz");
const TINY_REPORT = fixturePath(`${H200}tiny-full.ncu-rep.gz`);

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "cli-test-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const errorOf = (stderr: string): { code: string; message: string; hint: string } => JSON.parse(stderr).error;

describe("analyze with timelines", () => {
  it("leads with the idle GPU, then ranks by the time of the timeline", async () => {
    const { code, stdout, stderr } = await cli(["analyze", PIPELINE, "--top", "3"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain("The GPU was busy for 42.6 ms of 909 ms (4.7%)");
    expect(stdout).toContain("79 kernels in 3,892 launches, 41.6 ms of kernel time");
    expect(stdout).toMatch(/Busy time by stage: elementwise 4\d\.\d%, gemm/);
    expect(stdout).toMatch(/^1 {2}device_kernel.* 4\.86 ms 11\.4%/m);
    expect(stdout).toContain("Times only: for verdicts give a report of ncu");
  });

  it("joins a report, and gives the result object", async () => {
    const { code, stdout } = await cli(["analyze", TINY, TINY_REPORT, "--json"]);
    expect(code).toBe(0);
    const result = pipelineResultSchema.parse(JSON.parse(stdout));
    expect(result.kernels.map(({ target, roofline }) => [target, roofline])).toEqual([
      ["pointer_walk", "latency-bound"],
      ["fma_chain", "compute-bound"],
      ["smem_tile", "latency-bound"],
      ["stream_add", "memory-bound"],
      ["ncclDevKernel_AllReduce_Sum_f32_RING_LL", null],
    ]);
    expect(result.provenance.timelines[0]).toMatchObject({ format: "nsys-sqlite", compression: "gzip", tool: "nsys" });
  });

  it("takes a part of the timeline, and says what is wrong with one that is not there", async () => {
    const part = await cli(["analyze", TINY, "--json", "--window", "60000..80000"]);
    expect(part.code).toBe(0);
    expect(JSON.parse(part.stdout).timeline.window).toEqual({ from_us: 60000, to_us: 80000 });
    const missing = await cli(["analyze", TINY, "--json", "--window", "nvtx:no such range"]);
    expect([missing.code, errorOf(missing.stderr).code]).toEqual([2, "timeline_window_not_found"]);
    const wrong = await cli(["analyze", TINY, "--window", "sometime"]);
    expect(wrong.code).toBe(2);
    expect(wrong.stderr).toContain("Expected nvtx:NAME, step:N or FROM..TO");
    const none = await cli(["analyze", TINY_REPORT, "--json", "--window", "step:1"]);
    expect([none.code, errorOf(none.stderr).code]).toEqual([2, "window_without_timeline"]);
  });

  it("refuses what would be counted twice, and verdicts of launches", async () => {
    const copy = join(folder, "copy.gz");
    writeFileSync(copy, readFileSync(TINY));
    const twice = await cli(["analyze", TINY, copy, "--json"]);
    expect([twice.code, errorOf(twice.stderr).code]).toEqual([2, "file_twice"]);
    const unpacked = join(folder, "unpacked.sqlite");
    writeFileSync(unpacked, gunzipSync(readFileSync(TINY)));
    const again = await cli(["analyze", TINY, unpacked, "--json"]);
    expect([again.code, errorOf(again.stderr).code]).toEqual([9, "timeline_not_comparable"]);
    const launches = await cli(["analyze", TINY, "--launches"]);
    expect([launches.code, errorOf(launches.stderr).code]).toEqual([2, "launches_of_timeline"]);
  });

  it("refuses a recording that only nsys can read with the command to run, and a trace without kernels", async () => {
    const recording = await cli(["analyze", fixturePath("timelines/h200-pipeline.nsys-rep.first-40-bytes"), "--json"]);
    expect(recording.code).toBe(3);
    expect(errorOf(recording.stderr)).toMatchObject({
      code: "wrong_kind",
      hint: expect.stringContaining("nsys export --type sqlite"),
    });
    const empty = join(folder, "empty.json");
    writeFileSync(empty, JSON.stringify({ schemaVersion: 1, traceEvents: [] }));
    const { code, stderr } = await cli(["analyze", empty, "--json"]);
    expect([code, errorOf(stderr).code]).toEqual([4, "timeline_no_kernels"]);
  });
});

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openFile } from "../../src/base/file-source.ts";
import { readReport } from "../../src/report/detect.ts";
import { samplesDir } from "../helpers/fixtures.ts";
import { integrityProblems } from "./integrity.ts";

/** What an independent reader found in a sample. Processes' paths and sections are not part of the model. */
interface Expected {
  versions: Record<string, string>;
  devices: string[];
  kernels: {
    mangled: string;
    function: string;
    demangled: string;
    grid: number[];
    block: number[];
    context: number;
    stream: number;
    pid: number;
    nMetrics: number;
    nvtx: boolean;
    metrics: Record<string, number | string>;
  }[];
}

const directory = samplesDir();

describe.skipIf(directory === null)("reports of other people", () => {
  const folder = directory ?? "";
  const names = directory === null ? [] : readdirSync(join(folder, "rep")).sort();

  it("are 13", () => expect(names).toHaveLength(13));

  it.each(names)("%s", async (name) => {
    const result = await readReport(openFile(join(folder, "rep", name)));
    if (!result.ok) throw new Error(result.error.message);
    const report = result.value;
    expect(integrityProblems(report)).toEqual([]);
    const expected: Expected = JSON.parse(
      readFileSync(join(folder, "expected", name.replace(/\.gz$/, ".json")), "utf8"),
    );

    expect(report.partial).toBe(false);
    expect(report.compression).toBe("gzip");
    expect(report.devices.map((device) => device.name)).toEqual(expected.devices);
    expect({
      tool: report.tool.version,
      cuda: report.cuda_version,
      driver: report.driver_version,
    }).toEqual({
      tool: expected.versions["Nsight Compute Target"]?.split(" ")[0],
      cuda: expected.versions["CUDA Version"],
      driver: expected.versions["Display Driver Version"] ?? null,
    });

    expect(report.launches).toHaveLength(expected.kernels.length);
    for (const [position, kernel] of expected.kernels.entries()) {
      const launch = report.launches[position];
      expect(launch).toMatchObject({
        kind: "kernel",
        names: { mangled: kernel.mangled, function: kernel.function, demangled: kernel.demangled || null },
        grid: kernel.grid,
        block: kernel.block,
        context_id: kernel.context,
        stream_id: kernel.stream,
        process_id: kernel.pid,
        failure: null,
      });
      expect([...(launch?.metrics.names() ?? [])]).toHaveLength(kernel.nMetrics);
      if (!kernel.nvtx) expect(launch?.nvtx).toEqual([]);
      for (const [metric, value] of Object.entries(kernel.metrics)) {
        const found = typeof value === "string" ? launch?.metrics.text(metric) : launch?.metrics.number(metric);
        expect(found, metric).toBe(value);
      }
    }

    const disagreements = report.findings.filter(({ code }) => code === "duplicate_metric_disagrees");
    expect(report.findings).toEqual(disagreements);
    expect(disagreements.map(({ evidence }) => evidence)).toEqual(
      name.startsWith("cs599k_dup_duration")
        ? [
            { metric: "gpu__time_duration.sum", used: 142_560, dropped: 141_664 },
            { metric: "gpu__time_duration.sum", used: 153_184, dropped: 151_520 },
            { metric: "gpu__time_duration.sum", used: 152_000, dropped: 151_776 },
          ]
        : [],
    );
  });
});

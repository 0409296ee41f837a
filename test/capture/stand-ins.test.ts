import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readGpuStates, readGpus, readProcesses } from "../../src/capture/host/nvidia-smi.ts";
import { readTools } from "../../src/capture/host/tools.ts";

const program = fileURLToPath(new URL("../stand-in/nvidia-smi.mjs", import.meta.url));
const ncu = fileURLToPath(new URL("../stand-in/ncu.mjs", import.meta.url));
const H200 = "GPU-00000000-0000-0000-0000-000000000001";

const before = process.env.TMPDIR;
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "pk-stand-in-"));
  process.env.TMPDIR = folder;
});
afterEach(() => {
  if (before === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = before;
  rmSync(folder, { recursive: true, force: true });
});

describe("the stand-ins answer what the worker asks", () => {
  it("nvidia-smi: GPUs, their state and processes", async () => {
    const gpus = await readGpus({ program });
    expect(gpus).toMatchObject({
      ok: true,
      value: [
        {
          uuid: H200,
          name: "NVIDIA H200",
          driver_version: "580.159.04",
          compute_capability: "9.0",
          mig_mode: "disabled",
        },
      ],
    });
    const idle = await readGpuStates({ program });
    expect(idle.ok && idle.value.get(H200)).toMatchObject({ memory_used_bytes: { value: 0 }, mig: { value: false } });
    expect(await readProcesses({ program })).toEqual({ ok: true, value: [] });

    writeFileSync(join(folder, "stand-in-smi"), "process:4711,memory:120000,hot\n");
    const busy = await readGpuStates({ program });
    expect(busy.ok && busy.value.get(H200)?.memory_used_bytes.value).toBe(120_000 * 1024 ** 2);
    expect(busy.ok && busy.value.get(H200)?.throttle_reasons.value).toHaveLength(1);
    expect(await readProcesses({ program })).toMatchObject({ ok: true, value: [{ pid: 4711, gpu: H200 }] });

    writeFileSync(join(folder, "stand-in-smi"), "gpus:2");
    const two = await readGpus({ program });
    expect(two.ok && two.value.map(({ uuid }) => uuid.at(-1))).toEqual(["1", "2"]);
    writeFileSync(join(folder, "stand-in-smi"), "no_gpu");
    expect(await readGpus({ program })).toMatchObject({ ok: false, error: { code: "no_devices" } });
    writeFileSync(join(folder, "stand-in-smi"), "no_driver");
    expect(await readGpus({ program })).toMatchObject({ ok: false, error: { code: "no_driver" } });
  });

  it("ncu: version, sets and options", async () => {
    const { ncu: tool } = await readTools({ ncu, env: { PATH: process.env.PATH ?? "" } });
    expect(tool).toMatchObject({ ok: true, value: { path: ncu, version: "2025.3.1.0", supports: { mode: true } } });
    expect(tool.ok && tool.value.sets).toEqual(["basic", "detailed", "full", "nvlink", "pmsampling", "roofline"]);
  });
});

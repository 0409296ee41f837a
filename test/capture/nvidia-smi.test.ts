import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readDriverCudaVersion, readGpuStates, readGpus, readProcesses } from "../../src/capture/host/nvidia-smi.ts";
import { parseMigDevices, parseMigMemory } from "../../src/capture/host/nvidia-smi-mig.ts";
import { slowingReasons, throttleReasons } from "../../src/capture/host/throttle.ts";
import { H200_UUID, IDLE_H200, type Said, writeProgram } from "./programs.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "nvidia-smi-test-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const smi = (...said: Said[]) => ({ program: writeProgram(folder, "nvidia-smi", said) });

describe("readGpus", () => {
  it("reads a recorded H200", async () => {
    expect(await readGpus(smi(...IDLE_H200))).toEqual({
      ok: true,
      value: [
        {
          index: 0,
          uuid: H200_UUID,
          name: "NVIDIA H200",
          driver_version: "580.159.04",
          memory_total_bytes: 143_771 * 1024 * 1024,
          compute_capability: "9.0",
          mig_mode: "disabled",
        },
      ],
    });
  });

  it("orders by index and takes what a GPU lacks as null", async () => {
    const stdout =
      "1, GPU-b, 550.54.15, [N/A], 12.1, [N/A], NVIDIA GB10\n0, GPU-a, 550.54.15, 24564, 8.9, [N/A], Odd, with, commas\n";
    const gpus = await readGpus(smi({ args: /--query-gpu/, stdout }));
    expect(gpus.ok && gpus.value).toMatchObject([
      { index: 0, name: "Odd, with, commas", mig_mode: null, memory_total_bytes: 24_564 * 1024 * 1024 },
      { index: 1, name: "NVIDIA GB10", mig_mode: null, memory_total_bytes: null },
    ]);
  });

  it("leaves out a field that this nvidia-smi does not know", async () => {
    const gpus = await readGpus(
      smi(
        {
          args: /compute_cap/,
          stdout: 'Field "compute_cap" is not a valid field to query.\n\n',
          code: 2,
        },
        { args: /--query-gpu=index/, stdout: "0, GPU-a, 450.80.02, 40536, Disabled, A100-SXM4-40GB\n" },
      ),
    );
    expect(gpus.ok && gpus.value).toMatchObject([{ name: "A100-SXM4-40GB", compute_capability: null }]);
  });

  it("lists MIG devices in place of their GPU, with their own memory", async () => {
    const gpus = await readGpus(
      smi(
        {
          args: /--query-gpu=index/,
          stdout:
            "0, GPU-a, 550.54.15, 81559, 9.0, Enabled, NVIDIA H100\n1, GPU-b, 550.54.15, 81559, 9.0, Disabled, NVIDIA H100\n",
        },
        { args: /^-L$/, stdout: MIG_LIST },
        { args: /^-q -x$/, stdout: MIG_XML },
      ),
    );
    expect(gpus.ok && gpus.value).toMatchObject([
      { index: 0, uuid: "MIG-c1", name: "NVIDIA H100 MIG 3g.40gb", memory_total_bytes: 40_448 * 1024 * 1024 },
      { index: 0, uuid: "MIG-c2", name: "NVIDIA H100 MIG 1g.10gb", memory_total_bytes: null, mig_mode: "enabled" },
      { index: 1, uuid: "GPU-b" },
    ]);
  });

  it.each<[string, Said, string]>([
    ["no devices", { args: /./, stdout: "No devices were found\n", code: 6 }, "no_devices"],
    [
      "libraries of another driver",
      { args: /./, stdout: "Failed to initialize NVML: Driver/library version mismatch\n", code: 18 },
      "version_mismatch",
    ],
    [
      "no driver",
      {
        args: /./,
        stdout:
          "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed and running.\n",
        code: 9,
      },
      "no_driver",
    ],
    [
      "an error in place of a GPU",
      { args: /./, stdout: "Unable to determine the device handle: GPU is lost\n" },
      "unreadable",
    ],
    ["no answer to what is asked", { args: /./, stdout: "0, [Unknown Error], , , , , \n" }, "unreadable"],
    ["another failure", { args: /./, stderr: "boom\n", code: 255 }, "failed"],
  ])("tells %s", async (_name, said, code) => {
    const gpus = await readGpus(smi(said));
    expect(gpus).toMatchObject({ ok: false, error: { code, hint: expect.stringMatching(/./) } });
  });

  it("tells a program that is missing, and one that does not answer", async () => {
    expect(await readGpus({ program: join(folder, "nothing") })).toMatchObject({
      ok: false,
      error: { code: "missing" },
    });
    const hanging = smi({ args: /./, hangs: true });
    expect(await readGpus({ ...hanging, timeoutMs: 300 })).toMatchObject({ ok: false, error: { code: "no_answer" } });
  });
});

describe("readGpuStates", () => {
  it("reads a recorded H200", async () => {
    const states = await readGpuStates(smi(...IDLE_H200));
    expect(states.ok && states.value.get(H200_UUID)).toEqual({
      uuid: H200_UUID,
      memory_used_bytes: { value: 0, reason: null },
      memory_total_bytes: { value: 143_771 * 1024 * 1024, reason: null },
      sm_clock_hz: { value: 345e6, reason: null },
      sm_clock_max_hz: { value: 1980e6, reason: null },
      throttle_reasons: { value: ["gpu_idle"], reason: null },
      persistence_mode: { value: true, reason: null },
      mig: { value: false, reason: null },
    });
  });

  it("asks for the older name of a field, and gives reasons for what stays unknown", async () => {
    const program = smi(
      {
        args: /clocks_event_reasons/,
        stdout: 'Field "clocks_event_reasons.active" is not a valid field to query.\n',
        code: 2,
      },
      {
        args: /clocks_throttle_reasons/,
        stdout: "GPU-a, [Insufficient Permissions], 81559, x, 1980, 0x28, Off, [N/A]\n",
      },
    );
    const states = await readGpuStates(program);
    expect(states.ok && states.value.get("GPU-a")).toMatchObject({
      memory_used_bytes: { value: null, reason: "nvidia-smi gives [Insufficient Permissions] for memory.used" },
      sm_clock_hz: { value: null, reason: "expected a whole number for clocks.current.sm, found x" },
      throttle_reasons: { value: ["hw_slowdown", "sw_thermal_slowdown"] },
      persistence_mode: { value: null, reason: "expected Enabled or Disabled for persistence_mode, found Off" },
      mig: { value: false },
    });
    expect(readFileSync(`${program.program}.calls`, "utf8").trim().split("\n")).toHaveLength(2);
  });
});

describe("readProcesses", () => {
  it("reads processes, names with commas included", async () => {
    const stdout = "612, GPU-a, 1352, ./tiny\n700, GPU-a, [N/A], python3, -m vllm\n[N/A], GPU-a, 1, x\n";
    expect(
      await readProcesses(smi({ args: /--query-compute-apps=pid,gpu_uuid,used_gpu_memory,process_name/, stdout })),
    ).toEqual({
      ok: true,
      value: [
        { pid: 612, gpu: "GPU-a", memory_used_bytes: { value: 1352 * 1024 * 1024, reason: null }, name: "./tiny" },
        {
          pid: 700,
          gpu: "GPU-a",
          memory_used_bytes: { value: null, reason: "nvidia-smi gives [N/A] for used_gpu_memory" },
          name: "python3, -m vllm",
        },
      ],
    });
  });
});

it("finds the driver's CUDA version at the head of the table", async () => {
  expect(await readDriverCudaVersion(smi(...IDLE_H200))).toEqual({ value: "13.0", reason: null });
  expect(await readDriverCudaVersion(smi({ args: /^$/, stdout: "nothing" }))).toMatchObject({ value: null });
});

describe("throttle reasons", () => {
  it("names every bit, and keeps the number of an unknown one", () => {
    expect(throttleReasons(0n)).toEqual([]);
    expect(throttleReasons(0x1ffn)).toEqual([
      "gpu_idle",
      "applications_clocks_setting",
      "sw_power_cap",
      "hw_slowdown",
      "sync_boost",
      "sw_thermal_slowdown",
      "hw_thermal_slowdown",
      "hw_power_brake_slowdown",
      "display_clock_setting",
    ]);
    expect(throttleReasons(0x8000000000000001n)).toEqual(["gpu_idle", "unknown_0x8000000000000000"]);
  });

  it("takes settings and idleness for no slowdown", () => {
    expect(slowingReasons(throttleReasons(0x1ffn))).toEqual([
      "hw_slowdown",
      "sw_thermal_slowdown",
      "hw_thermal_slowdown",
      "hw_power_brake_slowdown",
    ]);
    expect(slowingReasons(throttleReasons(0x117n))).toEqual([]);
  });
});

// Shapes as drivers 535 to 575 print them.
const MIG_LIST = `GPU 0: NVIDIA H100 (UUID: GPU-a)
  MIG 3g.40gb     Device  0: (UUID: MIG-c1)
  MIG 1g.10gb     Device  1: (UUID: MIG-c2)
GPU 1: NVIDIA H100 (UUID: GPU-b)
`;
const MIG_XML = `<?xml version="1.0" ?>
<nvidia_smi_log>
  <gpu id="00000000:55:00.0">
    <mig_devices>
      <mig_device><index>0</index><uuid>GPU-not-this</uuid>
        <fb_memory_usage><total>40448 MiB</total><reserved>0 MiB</reserved><used>298 MiB</used></fb_memory_usage>
        <bar1_memory_usage><total>65535 MiB</total><used>0 MiB</used></bar1_memory_usage>
      </mig_device>
      <mig_device><index>1</index><fb_memory_usage><total>N/A</total><used>N/A</used></fb_memory_usage></mig_device>
    </mig_devices>
    <uuid>GPU-a</uuid>
  </gpu>
</nvidia_smi_log>`;

describe("MIG", () => {
  it("joins list and memory by GPU and number", () => {
    const [first, second] = parseMigDevices(MIG_LIST);
    const memory = parseMigMemory(MIG_XML);
    expect(first).toEqual({ uuid: "MIG-c1", profile: "3g.40gb", number: 0, parent: "GPU-a" });
    expect(first && memory(first)).toMatchObject({
      total: { value: 40_448 * 1024 ** 2 },
      used: { value: 298 * 1024 ** 2 },
    });
    expect(second && memory(second).total).toMatchObject({ value: null, reason: expect.stringContaining("N/A") });
  });

  it("finds nothing in other text", () => {
    expect(parseMigDevices("MIG 3g.40gb Device 0: (UUID: MIG-c1)\n")).toEqual([]);
    const [device] = parseMigDevices(MIG_LIST);
    expect(device && parseMigMemory("<gpu id=")(device).total.value).toBe(null);
  });
});

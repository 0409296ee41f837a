import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type PreflightOptions, preflight } from "../../src/capture/host/preflight.ts";
import { backupFinding } from "../../src/capture/host/preflight-findings.ts";
import { captureRecordSchema } from "../../src/model/capture.ts";
import { failureSchema } from "../../src/model/profile.ts";
import { H200_UUID, IDLE_H200, type Said, writeProc, writeProgram } from "./programs.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "preflight-test-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const GIB = 1024 ** 3;

/** An idle H200 and a worker that may do everything, but for what a test says. */
async function look(
  said: readonly Said[],
  options: Partial<PreflightOptions> = {},
  host: Parameters<typeof writeProc>[1] = {},
) {
  const proc = mkdtempSync(join(folder, "proc-"));
  writeProc(proc, { adminOnly: 0, processes: [[612, 1, "tiny"]], ...host });
  const result = await preflight({
    gpus: [{ uuid: H200_UUID }],
    nvidiaSmi: { program: writeProgram(folder, "nvidia-smi", [...said, ...IDLE_H200]) },
    ownPids: [],
    workFolder: folder,
    policy: "wait",
    waitLimitMs: 60_000,
    pollMs: 20,
    diskFloorBytes: 1,
    signal: new AbortController().signal,
    onWait: () => {},
    proc,
    ...options,
  });
  captureRecordSchema.shape.preflight.parse(result.record);
  if (result.refusal) failureSchema.parse(result.refusal);
  return result;
}

const state = (cells: string): Said => ({ args: /--query-gpu=uuid,/, stdout: `${H200_UUID}, ${cells}\n` });
const busy: Said = { args: /--query-compute-apps/, stdout: `612, ${H200_UUID}, 1352, ./tiny\n` };

describe("preflight", () => {
  it("finds nothing wrong with an idle GPU", async () => {
    const { record, findings, refusal, clockControl } = await look([]);
    expect({ findings, refusal, clockControl }).toEqual({ findings: [], refusal: null, clockControl: null });
    expect(record).toEqual([
      {
        gpu: H200_UUID,
        counters_permitted: true,
        other_processes: 0,
        memory_used_bytes: 0,
        memory_total_bytes: 143_771 * 1024 * 1024,
        sm_clock_hz: 345e6,
        sm_clock_max_hz: 1980e6,
        throttle_reasons: ["gpu_idle"],
        persistence_mode: true,
        mig: false,
        disk_free_bytes: expect.any(Number),
        null_reasons: {},
      },
    ]);
  });

  it("refuses where counters are for administrators only", async () => {
    const { refusal, record } = await look([], {}, { adminOnly: 1 });
    expect(refusal).toMatchObject({ code: "counters_not_permitted", retryable: false });
    expect(record[0]?.counters_permitted).toBe(false);
  });

  it("goes on where nobody says whether counters are permitted, and says why it is not known", async () => {
    const { refusal, record } = await look([], { proc: join(folder, "nothing") });
    expect(refusal).toBe(null);
    expect(record[0]).toMatchObject({
      counters_permitted: null,
      null_reasons: { counters_permitted: expect.stringContaining("cannot be read") },
    });
  });

  it("waits until others have left, and tells for whom", async () => {
    const told: string[] = [];
    const { refusal, record } = await look([busy], {
      onWait: (message) => {
        told.push(message);
        writeProgram(folder, "nvidia-smi", IDLE_H200);
      },
    });
    expect(told).toEqual(["waiting for other processes to leave the GPU: tiny (612)"]);
    expect(refusal).toBe(null);
    expect(record[0]?.other_processes).toBe(0);
  });

  it("waits no longer than its limit", async () => {
    const { refusal } = await look([busy], { waitLimitMs: 100 });
    expect(refusal).toMatchObject({
      code: "gpu_busy",
      retryable: true,
      evidence: { policy: "wait", processes: [{ pid: 612, name: "tiny" }] },
    });
  });

  it("stops waiting when it is told to", async () => {
    const cancel = new AbortController();
    const waiting = look([busy], { signal: cancel.signal, onWait: () => cancel.abort(new Error("canceled")) });
    await expect(waiting).rejects.toThrow("canceled");
  });

  it("fails at once, or goes on with a finding, as the policy says", async () => {
    expect((await look([busy], { policy: "fail" })).refusal).toMatchObject({ code: "gpu_busy" });
    const { refusal, findings, record } = await look([busy], { policy: "continue" });
    expect(refusal).toBe(null);
    expect(record[0]?.other_processes).toBe(1);
    expect(findings).toMatchObject([{ code: "gpu_shared", severity: "warning", evidence: { pids: "612" } }]);
  });

  it("takes our own processes and what they started for ours", async () => {
    const { refusal, record } = await look(
      [busy],
      { policy: "fail", ownPids: [600] },
      {
        processes: [
          [600, 1, "ncu"],
          [610, 600, "python3"],
          [612, 610, "worker"],
        ],
      },
    );
    expect(refusal).toBe(null);
    expect(record[0]?.other_processes).toBe(0);
  });

  it("finds memory that belongs to nobody who is seen", async () => {
    const used = state("20000, 143771, 1980, 1980, 0x0, Enabled, Disabled");
    expect((await look([used])).findings).toMatchObject([{ code: "gpu_used_unseen" }]);
    expect((await look([used], { ownPids: [1] })).findings).toEqual([]);
  });

  it("finds throttling, but takes idle and set clocks for none", async () => {
    const { findings, record } = await look([state("0, 143771, 900, 1980, 0x28, Disabled, Disabled")]);
    expect(record[0]?.throttle_reasons).toEqual(["hw_slowdown", "sw_thermal_slowdown"]);
    expect(findings).toMatchObject([
      { code: "gpu_throttled", evidence: { reasons: "hw_slowdown, sw_thermal_slowdown", sm_clock_hz: 900e6 } },
      { code: "persistence_mode_off", severity: "info" },
    ]);
    expect((await look([state("0, 143771, 900, 1980, 0x3, Enabled, Disabled")])).findings).toEqual([]);
  });

  it("says with numbers that the memory of replay will not fit", async () => {
    const { findings } = await look([state("120000, 143771, 1980, 1980, 0x0, Enabled, Disabled")], { ownPids: [1] });
    expect(findings).toMatchObject([
      {
        code: "memory_backup_expected",
        message: expect.stringContaining("117.2 GiB of 140.4 GiB"),
        evidence: { memory_used_bytes: 120_000 * 1024 ** 2 },
      },
    ]);
    expect(backupFinding("g", 4 * GIB, 140 * GIB)).toBe(null);
    expect(backupFinding("g", null, 140 * GIB)).toBe(null);
  });

  it("leaves the clocks of a MIG device alone", async () => {
    const { clockControl, findings, record } = await look(
      [
        state("[N/A], 81559, 1980, 1980, 0x0, Enabled, Enabled"),
        {
          args: /^-L$/,
          stdout: `GPU 0: NVIDIA H100 (UUID: ${H200_UUID})\n  MIG 1g.10gb     Device  0: (UUID: MIG-1)\n`,
        },
        { args: /^-q -x$/, stdout: "" },
        busy,
      ],
      { gpus: [{ uuid: "MIG-1" }], policy: "fail" },
    );
    expect(clockControl).toBe("none");
    expect(findings).toMatchObject([{ code: "mig_device" }]);
    expect(record[0]).toMatchObject({
      gpu: "MIG-1",
      mig: true,
      other_processes: null,
      memory_used_bytes: null,
      null_reasons: {
        other_processes: "nvidia-smi does not say on which MIG device the processes are",
        memory_used_bytes: "nvidia-smi -q -x does not list this MIG device",
      },
    });
  });

  it("refuses a full disk", async () => {
    const { refusal } = await look([], { diskFloorBytes: Number.MAX_SAFE_INTEGER });
    expect(refusal).toMatchObject({ code: "disk_full", retryable: true, evidence: { folder } });
  });

  it("refuses where the GPU has gone or nothing can be read", async () => {
    expect((await look([], { gpus: [{ uuid: "GPU-gone" }] })).refusal).toMatchObject({
      code: "preflight_failed",
      message: expect.stringContaining("no longer lists GPU-gone"),
    });
    const mismatch = { args: /./, stdout: "Failed to initialize NVML: Driver/library version mismatch\n", code: 18 };
    expect((await look([mismatch])).refusal).toMatchObject({
      code: "preflight_failed",
      hint: expect.stringContaining("reboot"),
    });
  });
});

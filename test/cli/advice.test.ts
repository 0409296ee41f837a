import { describe, expect, it } from "vitest";
import { adviceFor, hintSentences, nextStepSentence } from "../../cli/advice.ts";
import type { KernelEntry } from "../../src/model/result.ts";
import { LATENCY_REASONS, LIMITERS } from "../../src/model/words.ts";
import { kernelEntry } from "../helpers/result.ts";

type Detail = Partial<KernelEntry["detail"]>;
const bare = kernelEntry().detail;

/** One block more needs 57,344 B; warps wait for memory and the schedulers have slots. */
const ROOM: Detail = {
  issue_slot_utilization: 0.1,
  stalls: { ...bare.stalls, dominant_group: "memory_dependency" },
  occupancy: {
    ...bare.occupancy,
    theoretical: 0.1875,
    limiters: ["shared_mem"],
    next_step: {
      blocks_per_sm: 4,
      theoretical_occupancy: 0.25,
      max_registers_per_thread: null,
      max_shared_memory_allocated_bytes: 58_368,
      max_static_plus_dynamic_shared_memory_bytes: 57_344,
    },
  },
};
const RAISE = /^Theoretical occupancy would rise from 19% to 25% \(limited by shared memory\) with at most 57,344 B/;

const requireLaunch = ({ launch }: KernelEntry["detail"]): NonNullable<typeof launch> => {
  if (launch === null) throw new Error("expected a launch");
  return launch;
};

describe("adviceFor", () => {
  it.each(LIMITERS.filter((limiter) => !["latency", "tail", "imbalance", "launch", "unknown"].includes(limiter)))(
    "has words for the limiter %s",
    (limiter) => {
      expect(adviceFor(kernelEntry({ roofline: "compute-bound" }, { limiter })).length).toBe(1);
    },
  );

  it.each(LATENCY_REASONS.filter((reason) => !reason.startsWith("near_") && reason !== "low_theoretical_occupancy"))(
    "has words for the reason %s",
    (reason) => {
      const entry = kernelEntry({ roofline: "latency-bound" }, { latency: { primary: reason, reasons: [reason] } });
      expect(adviceFor(entry).length).toBe(1);
    },
  );

  it("treats a kernel near a roof as one of that roof, with words that differ at the roof", () => {
    const near = adviceFor(kernelEntry({ roofline: "latency-bound" }, { limiter: "tensor", near: true }));
    expect(near[0]).toMatch(/^Keep the tensor cores fed/);
    expect(adviceFor(kernelEntry({ roofline: "compute-bound" }, { limiter: "tensor" }))[0]).toMatch(/^Only less work/);
  });

  it("never blames barriers where producer warps are parked", () => {
    const latency: Detail["latency"] = { primary: "barrier_stalls", reasons: ["barrier_stalls"] };
    const finding = {
      code: "barrier_of_parked_warps",
      severity: "info" as const,
      message: "",
      launch: 0,
      evidence: {},
    };
    const about = (entry: KernelEntry): boolean => adviceFor(entry).some((text) => text.includes("barriers"));
    expect(about(kernelEntry({ roofline: "latency-bound" }, { latency }))).toBe(true);
    expect(about(kernelEntry({ roofline: "latency-bound" }, { latency }, [finding]))).toBe(false);
    expect(about(kernelEntry({ roofline: "latency-bound" }, { latency, limiter: "tensor", near: true }))).toBe(false);
  });

  it.each([
    ["a latency-bound kernel that waits", { roofline: "latency-bound" as const }, ROOM, true],
    [
      "a memory-bound kernel below the roof",
      { roofline: "memory-bound" as const, memory_bw_utilization: 0.82 },
      ROOM,
      true,
    ],
    [
      "a memory-bound kernel at the roof",
      { roofline: "memory-bound" as const, memory_bw_utilization: 0.9 },
      ROOM,
      false,
    ],
    ["a compute-bound kernel", { roofline: "compute-bound" as const }, ROOM, false],
    ["full issue slots", { roofline: "latency-bound" as const }, { ...ROOM, issue_slot_utilization: 0.7 }, false],
    [
      "warps that wait at barriers",
      { roofline: "latency-bound" as const },
      { ...ROOM, stalls: { ...bare.stalls, dominant_group: "synchronization" } },
      false,
    ],
    [
      "a tiny kernel",
      { roofline: "latency-bound" as const },
      { ...ROOM, latency: { primary: "tiny_kernel" as const, reasons: ["tiny_kernel" as const] } },
      false,
    ],
  ])("advises occupancy only where it can help: %s", (_, fields, detail, expected) => {
    expect(adviceFor(kernelEntry(fields, detail)).some((text) => RAISE.test(text))).toBe(expected);
  });

  it("names a faster path and what it costs", () => {
    const headroom = (path: string, requires_precision_change: boolean): Detail => ({
      headroom: {
        ...bare.headroom,
        to_best_path: 0.5,
        best_path: { path, path_in_use: "mma.sync", precision: "tf32", peak_tflops: 1, requires_precision_change },
      },
    });
    expect(adviceFor(kernelEntry({ roofline: "compute-bound" }, headroom("wgmma", false))).at(-1)).toBe(
      "It uses mma.sync where wgmma would be faster at the same precision: at that roof it would take 50% less time.",
    );
    expect(adviceFor(kernelEntry({ roofline: "compute-bound" }, headroom("tensor", true))).at(-1)).toMatch(
      /as TF32, if that precision is accepted/,
    );
  });

  it("names spills and bank conflicts", () => {
    const entry = kernelEntry(
      { roofline: "compute-bound" },
      {
        registers: { ...bare.registers, spill_instructions: 131_072 },
        shared_memory: { ...bare.shared_memory, bank_conflict_share: 0.4 },
      },
    );
    expect(adviceFor(entry).slice(-2)).toEqual([
      "Registers spill (131,072 instructions): shorten live ranges, or allow more registers per thread.",
      "40% of the shared-memory wavefronts are bank conflicts: pad or swizzle the layout.",
    ]);
  });

  it("asks for what is missing where there is no verdict", () => {
    expect(adviceFor(kernelEntry())[0]).toContain("ncu --set full");
    const failed = kernelEntry({}, { launch: { ...requireLaunch(bare), failure: "LaunchFailed" } });
    expect(adviceFor(failed)[0]).toContain("compute-sanitizer");
  });

  it("says nothing twice", () => {
    const entry = kernelEntry(
      { roofline: "latency-bound" },
      {
        latency: {
          primary: "grid_smaller_than_sm_count",
          reasons: ["grid_smaller_than_sm_count", "grid_smaller_than_sm_count"],
        },
      },
    );
    expect(adviceFor(entry).length).toBe(1);
  });
});

describe("nextStepSentence", () => {
  it("is null where nothing can be changed", () => {
    expect(nextStepSentence(kernelEntry())).toBeNull();
  });

  it("names every limit that has to be met together", () => {
    const occupancy = {
      ...ROOM.occupancy,
      limiters: ["registers", "shared_mem"],
      next_step: { ...ROOM.occupancy?.next_step, max_registers_per_thread: 80 },
    };
    expect(nextStepSentence(kernelEntry({}, { occupancy: occupancy as KernelEntry["detail"]["occupancy"] }))).toBe(
      "Theoretical occupancy would rise from 19% to 25% (limited by registers and shared memory) with at most 80 registers per thread and at most 57,344 B of shared memory per block: 4 blocks per SM.",
    );
  });
});

describe("hintSentences", () => {
  it("shows the largest estimates first and adds nothing up", () => {
    const hint = (rule: string, speedup_percent: number | null) => ({
      rule,
      section: null,
      title: null,
      text: null,
      speedup_type: "global" as const,
      speedup_percent,
      evidence: [{ metric: "m", value: 1, info: `fix ${rule}` }],
    });
    expect(hintSentences([hint("A", 5), hint("B", null), hint("C", 50)], 2)).toEqual([
      "C (global 50.0%): fix C",
      "A (global 5.00%): fix A",
    ]);
  });
});

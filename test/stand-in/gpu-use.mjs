// Which runs used a GPU at the same time. Where STAND_IN_GPU_USE names a file, each run of the stand-in writes a line there
// when it starts: when, who (STAND_IN_OWNER), how, on which GPUs, and which processes of others it found alive on one of
// them. A run that is killed cannot write when it ended; that its processes are gone when the next one begins is what counts.
import { appendFileSync, readdirSync, readFileSync } from "node:fs";

/** Processes of captures that write to this file, on these GPUs. A zombie has no environment any more. */
export function gpuProcesses(file, gpus) {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    const env = environmentOf(name);
    if (env.get("STAND_IN_GPU_USE") !== file || !env.has("PROFILE_KERNEL_GROUP")) return [];
    const visible = (env.get("CUDA_VISIBLE_DEVICES") ?? "").split(",");
    if (!visible.some((gpu) => gpus.includes(gpu))) return [];
    return [{ pid: Number(name), owner: env.get("STAND_IN_OWNER"), group: env.get("PROFILE_KERNEL_GROUP") }];
  });
}

function environmentOf(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/environ`, "utf8");
    return new Map(text.split("\0").map((entry) => [entry.split("=", 1)[0], entry.slice(entry.indexOf("=") + 1)]));
  } catch {
    return new Map();
  }
}

/** @param mode of the run: `attach` belongs to a `launch` of the same owner, a `run` stands alone. */
export function useGpus(mode) {
  const { STAND_IN_GPU_USE: file, STAND_IN_OWNER: owner, PROFILE_KERNEL_GROUP: group } = process.env;
  if (!file) return;
  const gpus = (process.env.CUDA_VISIBLE_DEVICES ?? "").split(",");
  const others = gpuProcesses(file, gpus).filter((found) =>
    mode === "run" ? found.group !== group : found.owner !== owner,
  );
  appendFileSync(file, `${JSON.stringify({ at: Date.now(), pid: process.pid, owner, mode, gpus, others })}\n`);
}

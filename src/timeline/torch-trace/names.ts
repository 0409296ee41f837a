import { baseName } from "../../model/kernel-name.ts";
import type { KernelNames } from "../../model/launch.ts";

/**
 * A kernel's name as recorded. Kineto demangles; a symbol of more than 1,024 characters stays mangled (measured: 1,269 and
 * 1,270 in a trace of torch with CUDA 13).
 */
export function kernelNames(recorded: string): KernelNames {
  const isMangled = recorded.startsWith("_Z");
  return {
    mangled: isMangled ? recorded : null,
    function: baseName(recorded),
    demangled: isMangled ? null : recorded,
    display: recorded,
    simplified: false,
  };
}

export function gpuOperationNames(display: string): KernelNames {
  return { mangled: null, function: null, demangled: null, display, simplified: false };
}

const ENDS: Readonly<Record<string, string>> = { h: "Host", d: "Device", a: "Array", p: "Peer" };

/**
 * Copies in nsys' spelling: `Memcpy HtoD (Pinned -> Device)` (Kineto, CuptiActivity.cpp; letters H, D, A for arrays, P)
 * and ROCm's older `CopyHostToDevice`. Kind of memory in parentheses is left out, as nsys does.
 */
export function copyName(recorded: string): string {
  const short = /\b([HDAP])to([HDAP])\b/.exec(recorded);
  const long = /(host|device|array|peer)[ _-]?to[ _-]?(host|device|array|peer)/i.exec(recorded);
  const ends = short ?? long;
  const [from, to] = [ends?.[1], ends?.[2]].map((end) =>
    end === undefined ? undefined : ENDS[end.charAt(0).toLowerCase()],
  );
  return from === undefined || to === undefined ? "[CUDA memcpy]" : `[CUDA memcpy ${from}-to-${to}]`;
}

export const SET_NAME = "[CUDA memset]";

/** What a call of the host's API does, as far as it matters here. */
export const CALL_OTHER = 0;
export const CALL_LAUNCH = 1;
export const CALL_GRAPH_LAUNCH = 2;
export const CALL_CAPTURE_BEGIN = 3;
export const CALL_CAPTURE_END = 4;

/**
 * By name: CUDA runtime and driver API 13.0, HIP 7. `cudaLaunchHostFunc` launches no kernel; `cudaLaunch` and
 * `cuLaunchGrid` are those of CUDA 9 and older. Versions and per-thread streams are suffixes (`_v7000`, `_ptsz`).
 */
export function callRole(name: string): number {
  if (/^(?:cuda|cu|hip)GraphLaunch(?:_|$)/.test(name)) return CALL_GRAPH_LAUNCH;
  if (/^(?:cuda|cu|hip)[A-Za-z]*Launch[A-Za-z]*Kernel/.test(name)) return CALL_LAUNCH;
  if (/^(?:cudaLaunch|cuLaunch|cuLaunchGrid(?:Async)?)(?:_|$)/.test(name)) return CALL_LAUNCH;
  if (/^(?:cuda|cu|hip)StreamBeginCapture/.test(name)) return CALL_CAPTURE_BEGIN;
  if (/^(?:cuda|cu|hip)StreamEndCapture(?:_|$)/.test(name)) return CALL_CAPTURE_END;
  return CALL_OTHER;
}

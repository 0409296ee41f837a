/**
 * What an event is, from its `cat`. Names of today: pytorch/kineto, libkineto/src/ActivityType.cpp; those of 2021
 * (`Kernel`, `Memcpy`, `Memset`, `Runtime`, `Operator`) as in traces of June 2021. XPU's API rows have names of their own,
 * ROCm's are `cuda_runtime`.
 */
export const NOT_NEEDED = 0;
export const KERNEL = 1;
export const MEMCPY = 2;
export const MEMSET = 3;
export const CALL = 4;
export const OPERATOR = 5;
export const ANNOTATION = 6;
export const GPU_ANNOTATION = 7;
export const PROFILER_RANGE = 8;

/** Sets bit 5: letters become small; `_` becomes another character, the same on both sides. */
const folded = (text: string): Uint8Array => Buffer.from(text, "latin1").map((byte) => byte | 0x20);

const BY_LENGTH: (readonly (readonly [Uint8Array, number])[])[] = [];
for (const [name, category] of [
  ["kernel", KERNEL],
  ["gpu_memcpy", MEMCPY],
  ["memcpy", MEMCPY],
  ["gpu_memset", MEMSET],
  ["memset", MEMSET],
  ["cuda_runtime", CALL],
  ["cuda_driver", CALL],
  ["runtime", CALL],
  ["xpu_runtime", CALL],
  ["xpu_driver", CALL],
  ["cpu_op", OPERATOR],
  ["operator", OPERATOR],
  ["user_annotation", ANNOTATION],
  ["gpu_user_annotation", GPU_ANNOTATION],
  ["cuda_profiler_range", PROFILER_RANGE],
] as const) {
  BY_LENGTH[name.length] = [...(BY_LENGTH[name.length] ?? []), [folded(name), category]];
}

/** The category in the bytes [start, end), compared without case. */
export function categoryOf(bytes: Buffer, start: number, end: number): number {
  const candidates = BY_LENGTH[end - start];
  if (candidates === undefined) return NOT_NEEDED;
  for (const [name, category] of candidates) {
    let at = 0;
    while (at < name.length && ((bytes[start + at] as number) | 0x20) === name[at]) at++;
    if (at === name.length) return category;
  }
  return NOT_NEEDED;
}

export const isGpuRow = (category: number): boolean => category >= KERNEL && category <= MEMSET;

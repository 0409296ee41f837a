import type { RankedKernel } from "./selection.ts";

/**
 * The kernel that a line of ncu's progress means, or null where it is none of the timeline or more than one. ncu prints
 * `context:stream:name:number` where launches are chosen by `--kernel-id` (measured, 2025.3.1), else the demangled name
 * up to 32 characters or the function name; what is longer is cut and ends in three dots.
 */
export function kernelOfLine(printed: string, kernels: readonly RankedKernel[]): RankedKernel | null {
  const numbered = /^\d+:\d+:(.+):\d+$/s.exec(printed)?.[1] ?? printed;
  const isCut = numbered.endsWith("...");
  const name = isCut ? numbered.slice(0, -3) : numbered;
  const same = (known: string): boolean => (isCut ? known.startsWith(name) : known === name);
  const found = kernels.filter(({ kernel, function: base, clusters }) => {
    if (same(kernel) || (base !== null && same(base))) return true;
    return clusters.some(({ launches }) => launches.some(({ mangled }) => same(mangled)));
  });
  // A mangled name belongs to one kernel; a function name may be that of several.
  const [kernel] = found;
  return found.length === 1 && kernel !== undefined ? kernel : null;
}

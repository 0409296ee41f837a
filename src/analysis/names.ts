import type { KernelNames } from "../model/launch.ts";
import { demangledKernel } from "./demangle.ts";
import { respelled } from "./name-spelling.ts";

/** What tells one kernel from another. `printed`: a CSV page dropped namespaces, so two kernels may share the key. */
export interface NameKey {
  readonly key: string;
  readonly kind: "demangled" | "mangled" | "printed";
}

/**
 * One spelling for what tools spell differently, without parameters: that of the C++ library's demangler (see
 * `respelled`); `(int)8`, `8u` and `8`, `(bool)1` and `true` are one. Linear in the length of the name.
 */
export const normalizeName = (name: string): string => respelled(name).text;

function keyOfMangled(mangled: string): string | null {
  const demangled = demangledKernel(mangled);
  return demangled === null ? null : normalizeName(demangled);
}

const upToArguments = (key: string): string => key.slice(0, key.indexOf("<"));

/**
 * The key of a launch's kernel: the demangled name in one spelling and without parameter list, which is the same whoever
 * demangled it: ncu, nsys, torch. A mangled name alone (Kineto leaves long ones so) is demangled here; where that cannot
 * be done, and for unmangled symbols (Triton, nvjet), the symbol is the key. A simplified name of a CSV page is its own
 * kind of key.
 */
export function nameKey(names: KernelNames): NameKey {
  if (names.simplified) return { key: normalizeName(names.display), kind: "printed" };
  const mangled = names.mangled ?? "";
  if (names.demangled !== null && names.demangled !== "") {
    const { text, hasParameters } = respelled(names.demangled);
    const own = hasParameters ? keyOfMangled(mangled) : null;
    return { key: own !== null && upToArguments(own) === upToArguments(text) ? own : text, kind: "demangled" };
  }
  if (mangled !== "") {
    const key = keyOfMangled(mangled);
    return key === null ? { key: mangled, kind: "mangled" } : { key, kind: "demangled" };
  }
  return { key: normalizeName(names.display), kind: "printed" };
}

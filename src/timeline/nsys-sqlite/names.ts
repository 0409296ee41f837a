import type { KernelNames } from "../../model/launch.ts";
import type { Strings } from "./strings.ts";

/** A name that stands for itself: of copies, sets and graphs. */
export const plainName = (text: string): KernelNames => ({
  mangled: null,
  function: null,
  demangled: null,
  display: text,
  simplified: false,
});

/** The names of a kernel by their ids in `StringIds`; where none is in the file, the name to show says so. */
export function kernelNames(strings: Strings, demangledId: number, functionId: number, mangledId: number): KernelNames {
  const text = strings.get(demangledId);
  const isMangled = text?.startsWith("_Z") ?? false;
  const mangled = strings.get(mangledId) ?? (isMangled ? text : null);
  const name = strings.get(functionId);
  const missing = Number.isFinite(demangledId)
    ? `(kernel whose name ${demangledId} is not in the file)`
    : "(kernel without a name)";
  return {
    mangled: mangled || null,
    function: name || null,
    demangled: isMangled ? null : text || null,
    display: text || name || mangled || missing,
    simplified: false,
  };
}

const PLACES: Readonly<Record<string, string>> = { H: "Host", D: "Device", A: "Array", P: "Peer" };

/**
 * The name of a copy or set as every reader of timelines writes it: `[CUDA memcpy HtoD]` of older versions becomes
 * `[CUDA memcpy Host-to-Device]`. Null: a kernel.
 */
export function memoryOperation(
  name: string,
): { readonly kind: "memcpy" | "memset"; readonly name: string; readonly isManaged: boolean } | null {
  const operation = /^\[CUDA (unified memory )?(memcpy|memset)\b ?([^\]]{0,40})\]$/i.exec(name);
  if (operation === null) return null;
  if (operation[2]?.toLowerCase() === "memset") return { kind: "memset", name: "[CUDA memset]", isManaged: false };
  const words = operation[3] ?? "";
  const isManaged = operation[1] !== undefined || /^unified/i.test(words);
  const direction = words
    .replace(/^unified\s*/i, "")
    .replace(/^([HDAP])to([HDAP])$/, (_, from: string, to: string) => `${PLACES[from]}-to-${PLACES[to]}`);
  const parts = [isManaged ? "Unified" : "", direction].filter((part) => part !== "");
  return { kind: "memcpy", name: parts.length === 0 ? "[CUDA memcpy]" : `[CUDA memcpy ${parts.join(" ")}]`, isManaged };
}

/** `@section:Id:Text@`, `@url:Text:https://…@`, `@source:file:line:Text@`. */
const MARKUP = /@([a-z]+):([^:@]*):([^@]*)@/g;

/**
 * Resolves the markup in texts of NVIDIA's rules the way the details page of Nsight Compute 2025.3.1 prints it: a
 * section becomes its title, a link its text with the address in parentheses.
 */
export function resolveMarkup(text: string): string {
  if (!text.includes("@")) return text;
  return text.replace(MARKUP, (_whole, kind: string, first: string, rest: string) => {
    if (kind === "url") return `${first} (${rest})`;
    return kind === "source" ? rest.slice(rest.lastIndexOf(":") + 1) : rest;
  });
}

import type { NvtxRange } from "../../model/launch.ts";

/**
 * Push/pop ranges of one cell of the column `thread Domain:Push/Pop_Range:…`, outermost first. A cell reads
 * `509  "<default domain>:add:none:none:none:none:none:none" `: thread id, two blanks, one quoted entry a range; an entry
 * is domain, range name, type and value of the payload, type and value of the colour, type and text of the message
 * (Nsight Compute 2025.3.1). A range name may hold colons: the name ends where the six known fields begin.
 */
export function readNvtxCell(cell: string): NvtxRange[] {
  const start = cell.indexOf('"');
  const end = cell.lastIndexOf('"');
  if (end <= start) return [];
  return cell
    .slice(start + 1, end)
    .split(/"\s+"/)
    .map(readEntry)
    .filter((range) => range !== null);
}

const PAYLOAD = /:(?:none|u?int\d*|u?int\d*_t|float|double|unknown)$/i;
const COLOUR = /:(?:none|argb|unknown)$/i;

function readEntry(entry: string): NvtxRange | null {
  const first = entry.indexOf(":");
  if (first < 0) return null;
  const domain = entry.slice(0, first);
  const fields = entry.slice(first + 1).split(":");
  // From the left: the message at the end may hold colons too, and most often repeats the name.
  for (let at = 1; at + 6 <= fields.length; at++) {
    if (PAYLOAD.test(`:${fields[at]}`) && COLOUR.test(`:${fields[at + 2]}`)) {
      return { domain, name: fields.slice(0, at).join(":") };
    }
  }
  return { domain, name: fields.slice(0, Math.max(1, fields.length - 6)).join(":") };
}

import type { TimelineLimits } from "../../model/timeline.ts";
import type { Dropped } from "../dropped.ts";
import { HostRowsBuilder, type Pool } from "../rows.ts";
import { faultOf } from "./calls.ts";
import type { Clock } from "./clock.ts";
import type { Database, Table } from "./database.ts";
import { readIntegers, textOfHex } from "./integers.ts";
import type { Strings } from "./strings.ts";
import type { Threads } from "./threads.ts";

/** ENUM_NSYS_EVENT_TYPE: ranges of push and pop, of start and end; then the same read from a text file of NVTX events. */
const RANGES = "eventType IN (59, 60, 70, 71)";
const COLUMNS = ["start", "end", "globalTid", "textId"] as const;
const UNNAMED = "(range without a name)";

/**
 * Reads NVTX ranges. The name stands in the row or, where it was registered, in `StringIds`; what is in it (running
 * numbers, `op_id = N` of torch) is left as it is. Null: more than the limit.
 */
export function readRanges(
  database: Database,
  table: Table,
  from: {
    readonly strings: Strings;
    readonly texts: Pool<string>;
    readonly threads: Threads;
    readonly clock: Clock;
    readonly dropped: Dropped;
  },
  limits: TimelineLimits,
): HostRowsBuilder | null {
  const builder = new HostRowsBuilder();
  let isTooMany = false;
  const where = table.columns.has("eventType") ? RANGES : "TRUE";
  readIntegers(database, table, { integers: COLUMNS, text: "text", where }, (row) => {
    if (isTooMany) return;
    if (row === null) return from.dropped.add("malformed", "an NVTX range");
    const start = from.clock.read(row, 0);
    const end = from.clock.read(row, 1);
    const name = row.hex === null ? from.strings.get(row.values[3] as number) : textOfHex(row.hex);
    const fault = faultOf(start, end);
    if (fault !== null) return from.dropped.add(fault, name ?? UNNAMED);
    if (builder.count >= limits.maxHostRows) isTooMany = true;
    else {
      const isOpen = Number.isNaN(end) || (end === 0 && start > 0);
      builder.add(start, isOpen ? Number.NaN : end, from.texts.add(name || UNNAMED), from.threads.of(row, 2).position);
    }
  });
  return isTooMany ? null : builder;
}

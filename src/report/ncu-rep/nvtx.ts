import type { NvtxRange } from "../../model/launch.ts";
import type { Wire } from "./wire.ts";

interface ThreadStack {
  id: number;
  ranges: { domain: number; name: string }[];
}

/**
 * The push/pop stack of the launching thread (Nsight Compute's Nvtx.proto), outermost range first. The message is also
 * written where no range was open: then the list is empty.
 */
export function readNvtx(wire: Wire, threadId: number | null): NvtxRange[] {
  const domains = new Map<number, string>();
  const threads: ThreadStack[] = [];
  wire.message((field) => {
    if (field === 1) readDomain(wire, domains);
    else if (field === 2) threads.push(readThread(wire));
    else wire.skip();
  });
  const own = threads.find((thread) => thread.id === threadId) ?? (threads.length === 1 ? threads[0] : undefined);
  return (own?.ranges ?? []).map(({ domain, name }) => ({ domain: domains.get(domain) ?? String(domain), name }));
}

function readDomain(wire: Wire, domains: Map<number, string>): void {
  let id = 0;
  let name = "";
  wire.message((field) => {
    if (field === 1) id = wire.uint();
    else if (field === 2) name = wire.text();
    else wire.skip();
  });
  domains.set(id, name);
}

function readThread(wire: Wire): ThreadStack {
  const thread: ThreadStack = { id: 0, ranges: [] };
  wire.message((field) => {
    if (field === 1) thread.id = wire.uint();
    else if (field === 2) readStackOfDomain(wire, thread);
    else wire.skip();
  });
  return thread;
}

function readStackOfDomain(wire: Wire, thread: ThreadStack): void {
  let domain = 0;
  const names: string[] = [];
  wire.message((field) => {
    if (field === 1) domain = wire.uint();
    else if (field === 3) names.push(readRangeName(wire));
    else wire.skip();
  });
  for (const name of names) thread.ranges.push({ domain, name });
}

/** Field 1 is the name; where it is empty the message of the attributes (2.5.2) is. */
function readRangeName(wire: Wire): string {
  let name = "";
  let message = "";
  wire.message((field) => {
    if (field === 1) name = wire.text();
    else if (field === 2) {
      wire.message((attribute) => {
        if (attribute !== 5) wire.skip();
        else {
          wire.message((part) => {
            if (part === 2) message = wire.text();
            else wire.skip();
          });
        }
      });
    } else wire.skip();
  });
  return name !== "" ? name : message;
}

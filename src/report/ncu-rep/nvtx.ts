import type { NvtxRange } from "../../model/launch.ts";
import type { Wire } from "./wire.ts";

/** A message type of 3 refers to a string that the domain registered (Nvtx.proto of Nsight Compute 2025.3.1). */
interface Domain {
  name: string;
  readonly strings: Map<number, string>;
}

interface StackEntry {
  readonly domain: number;
  readonly name: string;
  /** Registered string that stands for an empty name. */
  readonly handle: number | null;
}

interface ThreadStack {
  id: number;
  readonly ranges: StackEntry[];
}

/**
 * The push/pop stack of the launching thread (Nvtx.proto), domain by domain, outermost range first. The message is also
 * written where no range was open: then the list is empty.
 */
export function readNvtx(wire: Wire, threadId: number | null): NvtxRange[] {
  const domains = new Map<number, Domain>();
  const threads: ThreadStack[] = [];
  wire.message((field) => {
    if (field === 1) readDomain(wire, domains);
    else if (field === 2) threads.push(readThread(wire));
    else wire.skip();
  });
  const own = threads.find((thread) => thread.id === threadId) ?? (threads.length === 1 ? threads[0] : undefined);
  return (own?.ranges ?? []).map(({ domain, name, handle }) => ({
    domain: domains.get(domain)?.name ?? String(domain),
    name: name !== "" || handle === null ? name : (domains.get(domain)?.strings.get(handle) ?? ""),
  }));
}

function readDomain(wire: Wire, domains: Map<number, Domain>): void {
  const domain: Domain = { name: "", strings: new Map() };
  let id = 0;
  wire.message((field) => {
    if (field === 1) id = wire.uint();
    else if (field === 2) domain.name = wire.text();
    else if (field === 3) {
      let handle = 0;
      let value = "";
      wire.message((part) => {
        if (part === 1) handle = wire.uint();
        else if (part === 2) value = wire.text();
        else wire.skip();
      });
      domain.strings.set(handle, value);
    } else wire.skip();
  });
  domains.set(id, domain);
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
  const ranges: { name: string; handle: number | null }[] = [];
  wire.message((field) => {
    if (field === 1) domain = wire.uint();
    else if (field === 3) ranges.push(readRange(wire));
    else wire.skip();
  });
  for (const range of ranges) thread.ranges.push({ domain, ...range });
}

/** NvtxPushPopRange: 1 name; where it is empty the message of the attributes (2.5: 2 text, 3 handle) says more. */
function readRange(wire: Wire): { name: string; handle: number | null } {
  let name = "";
  let message = "";
  let handle: number | null = null;
  wire.message((field) => {
    if (field === 1) name = wire.text();
    else if (field === 2) {
      wire.message((attribute) => {
        if (attribute !== 5) wire.skip();
        else {
          wire.message((part) => {
            if (part === 2) message = wire.text();
            else if (part === 3) handle = wire.uint();
            else wire.skip();
          });
        }
      });
    } else wire.skip();
  });
  return { name: name !== "" ? name : message, handle };
}

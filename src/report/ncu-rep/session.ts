import type { ReportDevice } from "../../model/report.ts";
import type { Wire } from "./wire.ts";

/** What the session blocks say. They come in pieces, after the first result. Host names and command lines stay out. */
export interface Session {
  /** By provider, as the file spells it: `CUDA Version`, `Nsight Compute Target`, `Display Driver Version`, … */
  readonly versions: Map<string, string>;
  readonly devices: Map<number, ReportDevice>;
}

/** Merges one SessionDetails piece (fields 6: device, 8: version) into `session`. */
export function readSession(wire: Wire, session: Session): void {
  wire.message((field) => {
    if (field === 6) readDevice(wire, session);
    else if (field === 8) readVersion(wire, session);
    else wire.skip();
  });
}

function readDevice(wire: Wire, session: Session): void {
  let index = 0;
  let name: string | null = null;
  wire.message((field) => {
    if (field === 1) index = wire.uint();
    else if (field === 2) name = wire.text();
    else wire.skip();
  });
  session.devices.set(index, { index, name });
}

function readVersion(wire: Wire, session: Session): void {
  let provider = "";
  let version = "";
  wire.message((field) => {
    if (field === 1) provider = wire.text();
    else if (field === 2) version = wire.text();
    else wire.skip();
  });
  session.versions.set(provider, version);
}

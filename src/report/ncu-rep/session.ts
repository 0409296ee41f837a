import type { ReportDevice } from "../../model/report.ts";
import type { Wire } from "./wire.ts";

/** More than any host has. */
const MAX_DEVICES = 1024;

/** Providers of versions that are handed on, as reports spell them. */
export const CUDA_VERSION = "CUDA Version";
export const NCU_VERSION = "Nsight Compute Target";
export const DRIVER_VERSION = "Display Driver Version";
const PROVIDERS: ReadonlySet<string> = new Set([CUDA_VERSION, NCU_VERSION, DRIVER_VERSION]);

/** What the session blocks say. They come in pieces, after the first result. Host names and command lines stay out. */
export interface Session {
  /** Of blocks that name no process of their own. */
  processId: number | null;
  /** By provider. */
  readonly versions: Map<string, string>;
  readonly devices: Map<number, ReportDevice>;
}

/** Merges one ReportSessionDetails piece (fields 1: process id, 6: device, 8: version) into `session`. */
export function readSession(wire: Wire, session: Session): void {
  wire.message((field) => {
    if (field === 1) session.processId = wire.uint();
    else if (field === 6) readDevice(wire, session);
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
  if (session.devices.size < MAX_DEVICES) session.devices.set(index, { index, name });
}

function readVersion(wire: Wire, session: Session): void {
  let provider = "";
  let version = "";
  wire.message((field) => {
    if (field === 1) provider = wire.text();
    else if (field === 2) version = wire.text();
    else wire.skip();
  });
  if (PROVIDERS.has(provider)) session.versions.set(provider, version);
}

export const emptySession = (): Session => ({ processId: null, versions: new Map(), devices: new Map() });

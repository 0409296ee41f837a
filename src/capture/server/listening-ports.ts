import { readdir, readFile, readlink } from "node:fs/promises";
import type { Failure } from "../../model/profile.ts";

/** Ports that a program held by `ncu --mode launch` takes one of (`--port`, `--max-connections`: 49152 and 64 by default). */
export const ATTACH_PORTS = { first: 49152, count: 64 } as const;

/** State LISTEN in /proc/net/tcp (include/net/tcp_states.h). */
const LISTEN = "0A";

export interface ListeningPort {
  readonly port: number;
  readonly pid: number;
  /** False: other machines can reach it, as far as the network lets them. */
  readonly loopback: boolean;
}

/**
 * Ports in the range of `ncu --mode attach` that processes of the given ids listen on, lowest first. A program started
 * under `ncu --mode launch` opens one when it reaches its first CUDA call, so this tells when it can be attached to.
 */
export async function attachablePorts(pids: readonly number[]): Promise<ListeningPort[]> {
  const found = await Promise.all(pids.map((pid) => portsOf(pid)));
  const seen = new Map<number, ListeningPort>();
  for (const entry of found.flat()) if (!seen.has(entry.port)) seen.set(entry.port, entry);
  return [...seen.values()].sort((a, b) => a.port - b.port);
}

/**
 * Null where nothing on this host listens on the port; else why an engine cannot be started there. Requests meant for
 * the engine would go to whoever listens.
 */
export async function portTaken(port: number): Promise<Failure | null> {
  const tables = await Promise.all(
    ["tcp", "tcp6"].map((name) => readFile(`/proc/self/net/${name}`, "utf8").catch(() => "")),
  );
  const isTaken = tables.some((table) => rows(table).some((row) => row.isListening && row.port === port));
  if (!isTaken) return null;
  return {
    code: "engine_start_failed",
    message: `Another program listens on port ${port}, which the workload declares for its engine. Nothing was started.`,
    hint: "End that program, or give the workload another port (`port`, and `{port}` in `argv`).",
    retryable: true,
    evidence: { port },
  };
}

async function portsOf(pid: number): Promise<ListeningPort[]> {
  const inodes = await socketInodes(pid);
  if (inodes.size === 0) return [];
  const tables = await Promise.all(
    ["tcp", "tcp6"].map((name) => readFile(`/proc/${pid}/net/${name}`, "utf8").catch(() => "")),
  );
  return tables.flatMap((table) => listeners(table, inodes, pid));
}

interface SocketRow {
  readonly address: string;
  readonly port: number;
  readonly isListening: boolean;
  readonly inode: string;
}

/** Columns of /proc/net/tcp: sl, local_address, rem_address, st, …, uid, timeout, inode (proc(5)). */
function rows(table: string): SocketRow[] {
  return table.split("\n").map((line) => {
    const columns = line.trim().split(/\s+/);
    const [address = "", portHex = ""] = (columns[1] ?? "").split(":");
    const port = Number.parseInt(portHex, 16);
    return { address, port, isListening: columns[3] === LISTEN, inode: columns[9] ?? "" };
  });
}

function listeners(table: string, inodes: ReadonlySet<string>, pid: number): ListeningPort[] {
  return rows(table).flatMap(({ address, port, isListening, inode }) => {
    if (!isListening || !inodes.has(inode)) return [];
    if (port < ATTACH_PORTS.first || port >= ATTACH_PORTS.first + ATTACH_PORTS.count) return [];
    // IPv4 addresses stand in host byte order: 127.0.0.1 is 0100007F on little-endian machines.
    return [{ port, pid, loopback: /^0100007F$|7F000001$|^0{24}01000000$/i.test(address) }];
  });
}

async function socketInodes(pid: number): Promise<Set<string>> {
  const folder = `/proc/${pid}/fd`;
  const names = await readdir(folder).catch(() => []);
  const links = await Promise.all(names.map((name) => readlink(`${folder}/${name}`).catch(() => "")));
  return new Set(links.flatMap((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? []));
}

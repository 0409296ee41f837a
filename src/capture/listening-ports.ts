import { readdir, readFile, readlink } from "node:fs/promises";

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

async function portsOf(pid: number): Promise<ListeningPort[]> {
  const inodes = await socketInodes(pid);
  if (inodes.size === 0) return [];
  const tables = await Promise.all(
    ["tcp", "tcp6"].map((name) => readFile(`/proc/${pid}/net/${name}`, "utf8").catch(() => "")),
  );
  return tables.flatMap((table) => listeners(table, inodes, pid));
}

/** Columns of /proc/net/tcp: sl, local_address, rem_address, st, …, uid, timeout, inode (proc(5)). */
function listeners(table: string, inodes: ReadonlySet<string>, pid: number): ListeningPort[] {
  return table.split("\n").flatMap((line) => {
    const columns = line.trim().split(/\s+/);
    const [address = "", portHex = ""] = (columns[1] ?? "").split(":");
    if (columns[3] !== LISTEN || !inodes.has(columns[9] ?? "")) return [];
    const port = Number.parseInt(portHex, 16);
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

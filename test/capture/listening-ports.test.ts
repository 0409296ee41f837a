import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type Server } from "node:net";
import { afterEach, expect, it } from "vitest";
import { ATTACH_PORTS, attachablePorts, portTaken } from "../../src/capture/server/listening-ports.ts";
import { endAtExit } from "../helpers/end-at-exit.ts";

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** Listens on the first free port of those that programs under ncu take. */
async function listen(host: string): Promise<number> {
  for (let port = ATTACH_PORTS.first; port < ATTACH_PORTS.first + ATTACH_PORTS.count; port++) {
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once("error", () => resolve(false));
      server.listen(port, host, () => resolve(true));
    });
    if (!isFree) continue;
    servers.push(server);
    return port;
  }
  throw new Error("no port is free");
}

it("finds what processes listen on, by process, and says who can reach it", async () => {
  const loopback = await listen("127.0.0.1");
  const everywhere = await listen("0.0.0.0");
  const found = await attachablePorts([process.pid]);
  expect(found.filter(({ port }) => port === loopback || port === everywhere)).toEqual(
    [
      { port: loopback, pid: process.pid, loopback: true },
      { port: everywhere, pid: process.pid, loopback: false },
    ].sort((a, b) => a.port - b.port),
  );
});

it("leaves out other ports, other processes and those that are gone", async () => {
  const other = createServer();
  servers.push(other);
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  const { port } = other.address() as { port: number };
  const mine = await listen("127.0.0.1");
  if (port < ATTACH_PORTS.first || port >= ATTACH_PORTS.first + ATTACH_PORTS.count) {
    expect((await attachablePorts([process.pid])).map((entry) => entry.port)).not.toContain(port);
  }
  const child = endAtExit(spawn(process.execPath, ["-e", "setInterval(() => {}, 1e6)"], { stdio: "ignore" }));
  await once(child, "spawn");
  expect((await attachablePorts([child.pid ?? 0])).map((entry) => entry.port)).not.toContain(mine);
  child.kill("SIGKILL");
  await once(child, "exit");
  expect(await attachablePorts([child.pid ?? 0])).toEqual([]);
});

it("names a port once where several processes hold its socket", async () => {
  const script = `
    const server = require("node:net").createServer();
    const listen = (port) => server.listen(port, "127.0.0.1");
    server.on("error", ({ port }) => listen(port + 1));
    server.on("listening", () => {
      const wait = ["-e", "setInterval(() => {}, 1e6)"];
      const stdio = ["ignore", "ignore", "ignore", server._handle.fd];
      console.log(require("node:child_process").spawn(process.execPath, wait, { stdio }).pid);
    });
    listen(${ATTACH_PORTS.first});`;
  const parent = endAtExit(spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "inherit"] }));
  const [line] = await once(parent.stdout, "data");
  const child = Number(String(line));
  const found = await attachablePorts([parent.pid ?? 0, child]);
  expect(found).toHaveLength(1);
  process.kill(child, "SIGKILL");
  parent.kill("SIGKILL");
});

it("says that a port is taken while somebody listens on it, and not before", async () => {
  const port = await listen("127.0.0.1");
  expect(await portTaken(port)).toMatchObject({ code: "engine_start_failed", retryable: true, evidence: { port } });
  const [server] = servers.splice(0);
  server?.close();
  if (server !== undefined) await once(server, "close");
  expect(await portTaken(port)).toBeNull();
});

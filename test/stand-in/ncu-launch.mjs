// `ncu --mode launch PROGRAM`: holds the program until it is attached to. A real program is held at its first CUDA call,
// where it opens a port; here it is not started before, and the port is this process's.
import { spawn } from "node:child_process";
import { createServer } from "node:net";
import { constants } from "node:os";
import { readScenario, sleep } from "./ncu-session.mjs";

const FIRST_PORT = 49152;
const PORTS = 64;

export async function launch(options) {
  const scenario = readScenario();
  const [program, ...args] = options.program;
  const first = Number(options.port ?? FIRST_PORT);
  process.stdout.write(`==PROF== Waiting for profiler to attach on ports ${first}-${first + PORTS - 1}\n`);
  await sleep(scenario.attachable_after_ms ?? 20);
  if (process.env.STAND_IN_HELD === "ends") process.exit(1);

  let child = null;
  const attached = new Set();
  const start = () => {
    child = spawn(program, args, { stdio: ["ignore", "inherit", "inherit"] });
    child.on("error", () => process.exit(127));
    child.on("exit", (code, signal) => {
      for (const socket of attached) socket.end(`${JSON.stringify({ ended: true })}\n`);
      setTimeout(() => process.exit(code ?? 128 + constants.signals[signal]), 20);
    });
    return child;
  };
  // One attachment at a time, as one process serves one.
  const server = createServer((socket) => {
    socket.on("error", () => {});
    if (attached.size > 0) return socket.end(`${JSON.stringify({ busy: true })}\n`);
    attached.add(socket);
    socket.on("close", () => attached.delete(socket));
    const { pid } = child ?? start();
    socket.write(`${JSON.stringify({ pid, path: program, id: process.env.STAND_IN_ID ?? null })}\n`);
  });
  for (let port = first; port < first + PORTS; port++) {
    const taken = await new Promise((resolve) => {
      server.once("error", () => resolve(true));
      server.listen(port, "127.0.0.1", () => resolve(false));
    });
    server.removeAllListeners("error");
    if (!taken) break;
  }
  const stop = (signal) => {
    if (child === null) process.exit(128 + constants.signals[signal]);
    child.kill(signal);
  };
  process.on("SIGTERM", stop).on("SIGINT", stop);
}

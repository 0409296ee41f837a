// `ncu --mode attach`: profiles a program that was started by `ncu --mode launch`, until it is told to stop.
import { connect } from "node:net";
import { readScenario, Session, sleep } from "./ncu-session.mjs";

export async function attach(options) {
  const first = Number(options.port ?? 49152);
  const count = Number(options.maxConnections ?? 64);
  const session = new Session(options, readScenario());
  session.print("==PROF== Finding attachable processes on host 127.0.0.1.\n");
  let asked = false;
  process.on("SIGTERM", () => {
    asked = true;
    session.stop();
  });
  const found = await find(first, count);
  if (found === null) {
    session.print(
      `==WARNING== No processes found on 127.0.0.1 (ports ${first}-${first + count - 1}).\n==ERROR== No attachable process found.\n==ERROR== An error occurred while trying to profile.\n`,
    );
    process.exitCode = 1;
    return;
  }
  const { socket, hello, port } = found;
  session.print(`==PROF== Attaching to process '${hello.path}' (${hello.pid}) on port ${port}.\n`);
  let over = false;
  socket.on("close", () => {
    over = true;
  });
  await sleep(session.scenario.attaches_after_ms ?? 10);
  session.connected(hello.pid, hello.path);
  // A launch in progress is finished first (recorded: tiny-attach-mid.txt).
  await session.replay(hello.pid);
  while (!asked && !over) await sleep(10);
  if (asked) session.print("==PROF== Trying to shutdown target application\n");
  else session.print(`==PROF== Disconnected from process ${hello.pid}\n`);
  if (session.finished === 0) session.nothingProfiled();
  session.report();
  socket.destroy();
  if (!asked) return;
  process.removeAllListeners("SIGTERM");
  process.kill(process.pid, "SIGTERM");
}

async function find(first, count) {
  for (let port = first; port < first + count; port++) {
    const socket = connect(port, "127.0.0.1");
    const hello = await new Promise((resolve) => {
      socket.once("error", () => resolve(null));
      let text = "";
      socket.on("data", (chunk) => {
        text += chunk;
        if (text.includes("\n")) resolve(parse(text));
      });
      socket.once("close", () => resolve(null));
    });
    // With STAND_IN_ID only programs of the same test are found.
    const id = process.env.STAND_IN_ID ?? null;
    if (hello?.pid && (id === null || hello.id === id)) return { socket, hello, port };
    socket.destroy();
  }
  return null;
}

function parse(text) {
  try {
    return JSON.parse(text.split("\n")[0]);
  } catch {
    return null;
  }
}

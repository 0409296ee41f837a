// `ncu PROGRAM`: starts the program and profiles it.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:os";
import { readScenario, Session, sleep } from "./ncu-session.mjs";

export async function run(options) {
  const scenario = readScenario();
  const [program, ...args] = options.program;
  const child = spawn(program, args, { stdio: ["ignore", "inherit", "inherit"] });
  try {
    await once(child, "spawn");
  } catch {
    process.stdout.write(
      `==ERROR== '${program}' does not exist or is not an executable. Please make sure to specify the absolute path to '${program}' if the executable is not in the local directory.\n`,
    );
    process.exitCode = 1;
    return;
  }
  const exited = new Promise((resolve) =>
    child.once("exit", (code, signal) => resolve(code ?? constants.signals[signal])),
  );
  const session = new Session(options, scenario);
  const stop = () => {
    if (scenario.ignores_signals) return;
    session.stop();
    session.abandon = true;
  };
  process.on("SIGTERM", stop).on("SIGINT", stop);

  await sleep(scenario.connects_after_ms ?? 0);
  if (scenario.never_connects) {
    while (!session.stopping && child.exitCode === null) await sleep(10);
    child.kill("SIGKILL");
    process.exitCode = 1;
    return;
  }
  if (scenario.says !== undefined) return says(session, child, exited);
  session.connected(child.pid, program);
  await session.replay(child.pid);
  if (scenario.kills_itself) {
    // Recorded: tiny-killed.txt. The script over this process mirrors the signal.
    session.print(`==PROF== Profiling "fma_chain(float *, int)" - ${session.finished}: 0%....50%.`);
    child.kill("SIGKILL");
    process.kill(process.pid, "SIGKILL");
  }
  if (session.stopping) return shutDown(session, child, exited);
  if (session.faulted) return kernelFailed(session, child, exited);
  const code = await Promise.race([exited, session.stopped]);
  if (session.stopping) return shutDown(session, child, exited);
  session.print(`==PROF== Disconnected from process ${child.pid}\n`);
  const exit = code === 0 ? (scenario.application_code ?? 0) : code;
  if (exit !== 0) session.print(`==ERROR== The application returned an error code (${exit}).\n`);
  if (session.finished === 0) session.nothingProfiled();
  session.report();
  process.exitCode = scenario.exit ?? exit;
}

/** A recording without launches, line for line: ncu cannot profile at all, the program runs on or is killed. */
async function says(session, child, exited) {
  const { says, exit, kills_program: kills } = session.scenario;
  for (const line of session.lines) {
    if (line === "" || line.startsWith("#")) continue;
    session.print(`${line.replace(/process \d+/g, `process ${child.pid}`)}\n`);
  }
  if (kills) child.kill("SIGKILL");
  const code = says === "to_the_end" ? await exited : await Promise.race([exited, session.stopped]);
  if (session.stopping) child.kill("SIGKILL");
  await exited;
  process.exitCode = exit ?? code ?? 1;
}

/** Recorded: tiny-term.txt, tiny-collective-hang.txt. */
async function shutDown(session, child, exited) {
  session.print("==PROF== Trying to shutdown target application\n");
  if (session.open !== null) {
    const name = session.scenario.stops_in === undefined ? session.open : (session.scenario.stops_name ?? session.open);
    session.print(
      ` - ${Math.max(1, session.passes() - 3)} passes\n==ERROR== Failed to profile "${name}" in process ${child.pid}\n`,
    );
    session.print(
      "==PROF== Trying to shutdown target application\n==ERROR== An error occurred while trying to profile.\n",
    );
  }
  await sleep(session.scenario.closes_after_ms ?? 0);
  child.kill("SIGKILL");
  await exited;
  session.report();
  process.exit(1);
}

/** Recorded: tiny-fault.txt. */
async function kernelFailed(session, child, exited) {
  session.print("\n==ERROR== LaunchFailed\n==PROF== Trying to shutdown target application\n");
  child.kill("SIGKILL");
  await exited;
  session.print("==ERROR== The application returned an error code (9).\n");
  session.report();
  process.exit(9);
}

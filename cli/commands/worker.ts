import { visibleText } from "../../src/charts/visible-text.ts";
import { endAsked } from "../end-asked.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { CommandFailure } from "../failure.ts";
import { jsonText, write, writeLines } from "../output.ts";
import { paint, type Style, type Terminal, terminalOf } from "../terminal.ts";

export interface WorkerCheckFlags {
  readonly json?: boolean;
}

/** A check as it is shown. */
interface Shown {
  readonly title: string;
  readonly status: "ok" | "warning" | "failed" | "skipped";
  readonly message: string;
  readonly fix: string | null;
}

const STYLES: Readonly<Record<Shown["status"], Style>> = {
  ok: "green",
  warning: "yellow",
  failed: "red",
  skipped: "dim",
};

/**
 * Runs a worker until SIGINT or SIGTERM, then lets it finish what it has in hand, up to its limit; a second signal ends
 * the process at once, and what it started with it. stdout gets one line; logs go to stderr.
 */
export async function workerStartCommand(): Promise<ExitCode> {
  const end = endAsked((code) => process.exit(code));
  try {
    const { worker, pool } = await start();
    try {
      await writeLines(process.stdout, [`profile-kernel takes captures of pool ${pool}`]);
      await end;
    } finally {
      await worker.close();
    }
    return EXIT.ok;
  } finally {
    // An open channel keeps the process alive, also after a start that failed.
    if (process.connected) process.disconnect();
  }
}

async function start(): Promise<{ worker: { close(): Promise<void> }; pool: string }> {
  const { ConfigError, readConfig, startWorker } = await import("../../src/worker-main.ts");
  try {
    const config = readConfig({ ...process.env, ROLE: "capture" });
    return { worker: await startWorker(config), pool: config.WORKER_POOL };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    if (error instanceof ConfigError) {
      throw new CommandFailure(EXIT.usage, {
        code: "wrong_setting",
        message,
        hint: "Settings come from the environment; profile-kernel worker check looks at all of them.",
      });
    }
    throw new CommandFailure(EXIT.unavailable, {
      code: "worker_not_started",
      message: `the worker did not start: ${message}`,
      hint: "profile-kernel worker check names what is missing on this host.",
    });
  }
}

/** Looks at this host before it is used, and names the one thing to fix first. Exit code 8 where it cannot be used. */
export async function workerCheckCommand(program: readonly string[], flags: WorkerCheckFlags): Promise<ExitCode> {
  const { checkWorker } = await import("../../workers/check.ts");
  const terminal = terminalOf(process.stdout, process.env);
  let written: Promise<void> = Promise.resolve();
  const report = await checkWorker({
    env: process.env,
    probeProgram: program.length === 0 ? null : program,
    onCheck: (check) => {
      if (flags.json === true) return;
      written = written.then(() => writeLines(process.stdout, checkLines(terminal, check)));
      // Told below; meanwhile the checks go on.
      written.catch(() => {});
    },
  });
  await written;
  if (flags.json === true) await write(process.stdout, jsonText(report, "pretty"));
  else await writeLines(process.stdout, verdictLines(terminal, report.checks, report.fix_first));
  return report.ok ? EXIT.ok : EXIT.hostNotReady;
}

function checkLines(terminal: Terminal, { title, status, message, fix }: Shown): string[] {
  const line = `${paint(terminal, STYLES[status], status.padEnd(8))} ${title.padEnd(20)} ${visibleText(message)}`;
  return status === "warning" && fix !== null
    ? [line, `${" ".repeat(30)}${paint(terminal, "dim", visibleText(fix))}`]
    : [line];
}

function verdictLines(
  terminal: Terminal,
  checks: readonly Shown[],
  first: { readonly message: string; readonly fix: string } | null,
): string[] {
  const count = (status: Shown["status"]): number => checks.filter((check) => check.status === status).length;
  if (first === null) {
    const trial = checks.at(-1)?.status === "ok" ? "" : " No profile was tried: see above.";
    const remarks = count("warning") === 0 ? "" : ` ${count("warning")} warning(s).`;
    return ["", `${paint(terminal, "green", "This host can be used.")}${remarks}${trial}`];
  }
  return [
    "",
    `${paint(terminal, "red", `This host cannot be used: ${count("failed")} check(s) failed.`)} Fix this first:`,
    `  ${visibleText(first.message)}`,
    `  ${paint(terminal, "bold", visibleText(first.fix))}`,
  ];
}

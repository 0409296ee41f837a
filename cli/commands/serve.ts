import { endAsked } from "../end-asked.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { CommandFailure } from "../failure.ts";
import { writeLines } from "../output.ts";

export interface ServeFlags {
  readonly host?: string;
  readonly port?: string;
  readonly dataDir?: string;
}

/** What a parent that started this process with an IPC channel is told once the service answers. */
export interface ListeningMessage {
  readonly type: "listening";
  readonly url: string;
}

/**
 * Runs the service until SIGINT, SIGTERM or the end of a parent with an IPC channel, then closes it; a second signal ends
 * the process at once. Flags go before the environment. stdout gets one line with the address; logs go to stderr.
 */
export async function serveCommand(flags: ServeFlags): Promise<ExitCode> {
  const end = endAsked((code) => process.exit(code));
  try {
    const service = await start(flags);
    try {
      await writeLines(process.stdout, [`profile-kernel listens on ${service.url}`]);
      process.send?.({ type: "listening", url: service.url } satisfies ListeningMessage);
      await end;
    } finally {
      await service.close();
    }
    return EXIT.ok;
  } finally {
    // An open channel keeps the process alive, also after a start that failed.
    if (process.connected) process.disconnect();
  }
}

async function start(flags: ServeFlags): Promise<{ url: string; close(): Promise<void> }> {
  const { ConfigError, readConfig, startService } = await import("../../src/main.ts");
  const given = { HOST: flags.host, PORT: flags.port, DATA_DIR: flags.dataDir };
  const settings = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  try {
    return await startService(readConfig({ ...process.env, ...settings }));
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    if (error instanceof ConfigError) {
      throw new CommandFailure(EXIT.usage, {
        code: "wrong_setting",
        message,
        hint: "Settings come from the environment; --host, --port and --data-dir go before it.",
      });
    }
    throw new CommandFailure(EXIT.unavailable, {
      code: "service_not_started",
      message: `the service did not start: ${message}`,
      hint: "LOG_LEVEL=debug shows each step of the start on stderr.",
    });
  }
}

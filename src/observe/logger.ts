import { type Logger, pino } from "pino";
import type { Config } from "../config.ts";

export type { Logger };

/** JSON lines on standard error; standard output is for people. Secrets that could come with a request are taken out. */
export function createLogger(config: Pick<Config, "LOG_LEVEL">): Logger {
  return pino(
    {
      level: config.LOG_LEVEL,
      base: { service: "profile-kernel" },
      redact: {
        paths: ["authorization", "headers.authorization", "headers.cookie", "req.headers.authorization", "*.password"],
        censor: "[taken out]",
      },
    },
    pino.destination({ fd: 2, sync: true }),
  );
}

const INTERVAL_MS = 10_000;

/** Passes on errors that come in swarms (each attempt to connect again is one) once in a while. */
export function nowAndThen(warn: (error: Error) => void): (error: Error) => void {
  let last = Number.NEGATIVE_INFINITY;
  return (error) => {
    if (performance.now() - last < INTERVAL_MS) return;
    last = performance.now();
    warn(error);
  };
}

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

import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import { endAtExit } from "./end-at-exit.ts";

/** A redis-server of the test's own that can be ended and started again on the same socket. */
export interface TestRedis {
  readonly url: string;
  start(): Promise<void>;
  /** Ends it as a crash would. */
  kill(): Promise<void>;
}

export function testRedis(folder: string): TestRedis {
  const socket = join(folder, "redis.sock");
  let server: ReturnType<typeof spawn> | null = null;
  return {
    url: `unix:${socket}`,
    async start() {
      server = endAtExit(
        spawn(
          "redis-server",
          ["--port", "0", "--unixsocket", socket, "--dir", folder, "--appendonly", "yes", "--save", ""],
          { stdio: "ignore" },
        ),
      );
      const client = new Redis({ path: socket, lazyConnect: true, retryStrategy: () => null, maxRetriesPerRequest: 0 });
      client.on("error", () => {});
      while (
        !(await client
          .connect()
          .then(() => client.ping())
          .then(
            () => true,
            () => false,
          ))
      )
        await sleep(10);
      client.disconnect();
    },
    async kill() {
      if (!server || server.exitCode !== null) return;
      const ended = once(server, "exit");
      server.kill("SIGKILL");
      await ended;
    },
  };
}

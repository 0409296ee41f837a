import { Redis, type RedisOptions } from "ioredis";
import { RedisUnavailableError } from "./embedded-redis.ts";

/** Connections to one Redis, each kind with the manners its user needs. */
export interface RedisConnections {
  /** Fails fast: who answers a request must not wait for a Redis that is away. */
  readonly producer: Redis;
  /** Waits as long as it takes: for consumers and the subscription. */
  consumer(): Redis;
  /** True while every connection is up, copies that BullMQ made included. */
  isUp(): boolean;
  close(): void;
}

const CONNECT_LIMIT_MS = 10_000;
const COMMAND_LIMIT_MS = 5_000;

const retryStrategy = (times: number): number => Math.min(20 * 2 ** Math.min(times, 6), 1_000);

type ClientOptions = Omit<RedisOptions, "replyMapping">;

/** Where Redis is: a unix socket or a URL (`redis:`, `rediss:`, `unix:`). */
export type RedisAddress = { readonly socketPath: string } | { readonly url: string };

/**
 * Connects and checks that Redis answers.
 * @param onError told about lost connections; they are made again without end.
 * @throws RedisUnavailableError when Redis does not answer within 10 s.
 */
export async function connectRedis(address: RedisAddress, onError: (error: Error) => void): Promise<RedisConnections> {
  const open: Redis[] = [];
  const connect = (options: ClientOptions): Redis => {
    const all: ClientOptions = { retryStrategy, connectionName: "profile-kernel", ...options };
    const client =
      "socketPath" in address ? new Redis({ ...all, path: address.socketPath }) : fromUrl(address.url, all);
    client.on("error", onError);
    open.push(client);
    // BullMQ makes a copy to block on. Where it cannot close that, `close` does.
    const duplicate = client.duplicate.bind(client);
    client.duplicate = (...given) => {
      const copy = duplicate(...given);
      open.push(copy);
      return copy;
    };
    return client;
  };
  const producer = connect({ enableOfflineQueue: false, maxRetriesPerRequest: 1, commandTimeout: COMMAND_LIMIT_MS });
  const close = (): void => {
    for (const client of open) client.disconnect();
  };
  try {
    await ready(producer);
  } catch (error) {
    close();
    const where = "url" in address ? ` at ${new URL(address.url).host || new URL(address.url).pathname}` : "";
    throw new RedisUnavailableError(
      `Redis${where} does not answer: ${error instanceof Error ? error.message : error}. Check REDIS_URL.`,
    );
  }
  return {
    producer,
    consumer: () => connect({ maxRetriesPerRequest: null }),
    isUp: () => open.every(({ status }) => status === "ready"),
    close,
  };
}

function fromUrl(text: string, options: ClientOptions): Redis {
  const url = new URL(text);
  return url.protocol === "unix:" ? new Redis({ ...options, path: url.pathname }) : new Redis(text, options);
}

async function ready(client: Redis): Promise<void> {
  if (client.status === "ready") return;
  let last: Error | null = null;
  const remember = (error: Error): void => {
    last = error;
  };
  client.on("error", remember);
  try {
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => reject(last ?? new Error("no answer within 10 s")), CONNECT_LIMIT_MS);
      client.once("ready", () => {
        clearTimeout(timer);
        resolve();
      });
    });
  } finally {
    client.off("error", remember);
  }
}

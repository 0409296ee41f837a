import { createHttpApp } from "../src/http/app.ts";
import { registerRoutes, VERSION } from "../src/main.ts";
import { createLogger } from "../src/observe/logger.ts";
import { createMetrics } from "../src/observe/metrics.ts";

/** Handlers are registered and never called, so what they would reach the outside through is not there. */
const NOTHING = {} as never;

/** The OpenAPI document of the routes as they are, as it is committed: JSON text with a final line break. */
export async function openApiText(): Promise<string> {
  const app = await createHttpApp({
    logger: createLogger({ LOG_LEVEL: "silent" }),
    keys: NOTHING,
    metrics: createMetrics(VERSION),
    version: VERSION,
    isDraining: () => false,
  });
  await registerRoutes(app, NOTHING, NOTHING, NOTHING, NOTHING);
  await app.ready();
  const text = `${JSON.stringify(app.swagger(), null, 2)}\n`;
  await app.close();
  return text;
}

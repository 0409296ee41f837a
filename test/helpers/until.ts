import { setTimeout as sleep } from "node:timers/promises";

/** Waits for a state. The limit only ends a test that hangs. */
export async function until(reached: () => boolean | Promise<boolean>, limitMs = 60_000): Promise<void> {
  const deadline = Date.now() + limitMs;
  while (!(await reached())) {
    if (Date.now() > deadline) throw new Error(`not reached within ${limitMs} ms: ${reached}`);
    await sleep(20);
  }
}

import { EXIT, type ExitCode } from "./exit-codes.ts";

/**
 * Resolves at the first reason to stop: SIGINT, SIGTERM, or the end of a parent with an IPC channel. Listens from the
 * start on, so that a signal during the start is not lost.
 * @param onSecond told of the next signal after that, with the exit code of a process that ends by it
 */
export function endAsked(onSecond: (code: ExitCode) => void): Promise<void> {
  return new Promise((resolve) => {
    const codes = { SIGINT: EXIT.interrupted, SIGTERM: EXIT.terminated };
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      process.once(signal, () => {
        resolve();
        process.once(signal, () => onSecond(codes[signal]));
      });
    }
    process.once("disconnect", resolve);
  });
}

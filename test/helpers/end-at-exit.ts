import type { ChildProcess } from "node:child_process";

const children = new Set<ChildProcess>();
process.once("exit", () => {
  for (const child of children) child.kill("SIGKILL");
});

/** Whatever becomes of the tests, the child does not outlive this process. */
export function endAtExit<T extends ChildProcess>(child: T): T {
  children.add(child);
  child.once("exit", () => children.delete(child));
  return child;
}

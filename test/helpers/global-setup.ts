import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";

/** Tests of the command line and of worker threads run the built files: build them once from what is in the tree. */
export default function setup(): void {
  execFileSync(process.execPath, [fileURLToPath(new URL("../../scripts/build.mjs", import.meta.url))], {
    stdio: "inherit",
  });
}

// One command for every check: runs the `check:…` scripts of package.json one after the other, all of them, and fails if any failed.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const { scripts } = JSON.parse(readFileSync(`${root}package.json`, "utf8"));

const failed = [];
for (const name of Object.keys(scripts).filter((script) => script.startsWith("check:"))) {
  console.log(`\n== ${name}: ${scripts[name]}`);
  const started = performance.now();
  const { status } = spawnSync("npm", ["run", "--silent", name], { cwd: root, stdio: "inherit" });
  console.log(`== ${name}: ${status === 0 ? "ok" : "FAILED"} (${((performance.now() - started) / 1000).toFixed(1)} s)`);
  if (status !== 0) failed.push(name);
}

console.log(failed.length === 0 ? "\nall checks passed" : `\nfailed: ${failed.join(", ")}`);
process.exitCode = failed.length === 0 ? 0 : 1;

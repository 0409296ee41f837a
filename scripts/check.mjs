// One command for every check. Runs all of them, prints one line each, fails if any failed.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

const CHECKS = [
  ["types", "tsc", ["-p", "."]],
  ["lint and format", "biome", ["ci", "--error-on-warnings", "."]],
  ["unused code and dependencies", "knip", []],
  ["import directions", "depcruise", ["src", "routes", "workers", "cli", "--config", ".dependency-cruiser.cjs", "--output-type", "err-long"]],
  ["generated files", "tsx", ["scripts/generate.ts", "--check"]],
  ["tests", "vitest", ["run"]],
];

const failed = [];
for (const [name, program, args] of CHECKS) {
  console.log(`\n== ${name}: ${program} ${args.join(" ")}`);
  const started = performance.now();
  const { status } = spawnSync("npx", ["--no-install", program, ...args], { cwd: root, stdio: "inherit" });
  console.log(`== ${name}: ${status === 0 ? "ok" : "FAILED"} (${((performance.now() - started) / 1000).toFixed(1)} s)`);
  if (status !== 0) failed.push(name);
}

console.log(failed.length === 0 ? "\nall checks passed" : `\nfailed: ${failed.join(", ")}`);
process.exit(failed.length === 0 ? 0 : 1);

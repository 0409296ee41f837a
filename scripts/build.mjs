// Bundles the entry points into dist/: one file each plus shared chunks, packages left outside.
// Runs after `npm install` (script "prepare") and before demo, start and the tests; takes about a second.
import { access, rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Entry points by their name in dist/. Those that do not exist yet are left out. */
const ENTRIES = {
  cli: "cli/main.ts",
  main: "src/main.ts",
  "analysis-thread": "workers/analysis-thread.ts",
};

const entryPoints = {};
for (const [name, path] of Object.entries(ENTRIES)) {
  if (
    await access(root + path).then(
      () => true,
      () => false,
    )
  )
    entryPoints[name] = root + path;
}

await rm(`${root}dist`, { recursive: true, force: true });
await build({
  entryPoints,
  outdir: `${root}dist`,
  bundle: true,
  splitting: true,
  platform: "node",
  target: "node20",
  format: "esm",
  packages: "external",
  sourcemap: "linked",
  logLevel: "warning",
});

// Bundles the entry points into dist/: one file each plus shared chunks. Packages stay outside, except the small ones that
// the command line starts with: finding and compiling their files one by one took a third of its time.
// Runs after `npm install` (script "prepare") and before demo, start and the tests; takes about a second.
import { access, readFile, rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Entry points by their name in dist/. Those that do not exist yet are left out. */
const ENTRIES = {
  cli: "cli/main.ts",
  main: "src/main.ts",
  "analysis-thread": "workers/analysis-thread.ts",
};

/** Pure JavaScript without files of their own. */
const INLINED = new Set(["commander", "d3-scale", "re2js"]);

const { dependencies } = JSON.parse(await readFile(`${root}package.json`, "utf8"));
const external = Object.keys(dependencies).filter((name) => !INLINED.has(name));

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
  external: external.flatMap((name) => [name, `${name}/*`]),
  // commander is CommonJS and asks for Node's modules by require().
  banner: {
    js: 'import { createRequire as moduleRequire } from "node:module"; const require = moduleRequire(import.meta.url);',
  },
  minifyWhitespace: true,
  minifySyntax: true,
  sourcemap: "linked",
  logLevel: "warning",
});

// Bundles the entry points into dist/. Runs after `npm install` (script "prepare") and before demo, start and the tests;
// takes about a second.
import { readFile, rm } from "node:fs/promises";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Packages of pure JavaScript without files of their own; finding and compiling their files one by one took a third of the command line's start. */
const INLINED = new Set(["commander", "d3-scale", "re2js"]);

const { dependencies } = JSON.parse(await readFile(`${root}package.json`, "utf8"));
const external = Object.keys(dependencies).filter((name) => !INLINED.has(name));

/** JSON as text that is parsed: the engine reads it in a fraction of the time that an object literal takes. */
const parsedJson = {
  name: "parsed-json",
  setup(bundle) {
    bundle.onLoad({ filter: /\.json$/ }, async ({ path }) => ({
      contents: `export default JSON.parse(${JSON.stringify(JSON.stringify(JSON.parse(await readFile(path, "utf8"))))});`,
    }));
  },
};

/** The command line starts service and worker from bundles of their own, and stays free of their packages. */
const serviceOutside = {
  name: "service-outside",
  setup(bundle) {
    bundle.onResolve({ filter: /\/(src\/(main|worker-main)|workers\/check)\.ts$/ }, ({ kind, path }) =>
      kind === "dynamic-import" ? { path: `./${basename(path, ".ts")}.js`, external: true } : undefined,
    );
  },
};

const options = {
  outdir: `${root}dist`,
  bundle: true,
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
};

await rm(`${root}dist`, { recursive: true, force: true });
await build({ ...options, entryPoints: { cli: `${root}cli/main.ts` }, plugins: [parsedJson, serviceOutside] });
await build({
  ...options,
  splitting: true,
  entryPoints: {
    main: `${root}src/main.ts`,
    "worker-main": `${root}src/worker-main.ts`,
    check: `${root}workers/check.ts`,
    "analysis-thread": `${root}workers/analysis-thread.ts`,
    "rank-process": `${root}workers/rank-process.ts`,
    "trace-process": `${root}workers/trace-process.ts`,
  },
  plugins: [parsedJson],
});

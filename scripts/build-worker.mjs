// Bundles what a GPU host needs into dist/worker/: plain JavaScript with every package inside but the SQLite library, whose
// prebuilt parts are copied beside it, so that the folder runs with Node alone. `node dist/worker/profile-kernel.js worker check`, then `… worker start`.
import { cp, readdir, rm, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));
/** Another folder may be named. */
const outdir = process.argv[2] ?? `${root}dist/worker`;

/** The service itself stays out, and with it the database and its packages. */
const withoutService = {
  name: "without-service",
  setup(bundle) {
    bundle.onResolve({ filter: /\/src\/main\.ts$/ }, () => ({ path: "service", namespace: "left-out" }));
    bundle.onLoad({ filter: /.*/, namespace: "left-out" }, () => ({
      contents: 'throw new Error("this folder holds a worker only; install the whole service to run `serve`");',
    }));
  },
};

await rm(outdir, { recursive: true, force: true });
const { metafile } = await build({
  entryPoints: { "profile-kernel": `${root}cli/main.ts`, "rank-process": `${root}workers/rank-process.ts` },
  outdir,
  bundle: true,
  splitting: true,
  platform: "node",
  target: "node20",
  format: "esm",
  banner: {
    js: 'import { createRequire as moduleRequire } from "node:module"; const require = moduleRequire(import.meta.url);',
  },
  // The first three are faster where they are there; Redis and BullMQ work without. libsql reads timelines of nsys.
  external: ["msgpackr-extract", "bufferutil", "utf-8-validate", "libsql"],
  minifyWhitespace: true,
  minifySyntax: true,
  metafile: true,
  logLevel: "warning",
  plugins: [withoutService],
});

const forbidden = Object.keys(metafile.inputs).filter((path) =>
  /^src\/(db|profiles)\/|node_modules\/kysely\//.test(path),
);
if (forbidden.length > 0) {
  console.error(
    `build:worker: a worker must not reach the database, and the bundle holds ${forbidden.slice(0, 3).join(", ")}`,
  );
  process.exit(1);
}
const prebuilt = (await readdir(`${root}node_modules/@libsql`)).map((name) => `@libsql/${name}`);
for (const name of ["libsql", "@neon-rs/load", "detect-libc", ...prebuilt]) {
  await cp(`${root}node_modules/${name}`, `${outdir}/node_modules/${name}`, { recursive: true });
}
await writeFile(
  `${outdir}/package.json`,
  `${JSON.stringify({ name: "profile-kernel-worker", private: true, type: "module" })}\n`,
);
console.log(`${outdir}: ${Object.keys(metafile.outputs).length} files`);

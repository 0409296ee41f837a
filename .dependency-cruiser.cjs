/**
 * Who may import whom. One entry a folder, an allow-list: what is not listed is forbidden.
 * Every exception stands here with its reason. `npm run check:imports` reads this file.
 */
const PACKAGES = {
  "src/base": [],
  "src/model": [["zod", "payload schemas"]],
  "src/report": [],
  "src/timeline": [["libsql", "exports of nsys are SQLite files"]],
  "src/hardware": [],
  "src/analysis": [["re2js", "a target given as /regex/ runs in linear time"]],
  "src/trace-export": [],
  "src/charts": [["d3-scale", "axes; runs in the browser too"]],
  "src/profiles": [["uuid", "version 7 ids"]],
  "src/db": [["kysely"], ["libsql"], ["pg"]],
  "src/queue": [["bullmq"], ["ioredis"], ["execa", "the embedded redis-server"]],
  "src/artifacts": [],
  "src/access": [],
  "src/leases": [["ioredis"], ["uuid", "version 7 ids"]],
  "src/fleet": [],
  "src/capture": [
    ["execa", "programs of the host"],
    ["yaml", "workloads.yaml"],
    ["re2js", "log patterns run in linear time"],
  ],
  "src/http": [
    ["fastify"],
    ["@fastify/swagger"],
    ["@fastify/swagger-ui"],
    ["fastify-type-provider-zod"],
    ["zod"],
    ["prom-client"],
  ],
  "src/observe": [["pino"], ["prom-client"]],
};

/** Folder -> folders of the project it may import (itself is always allowed). */
const FOLDERS = {
  "src/base": [],
  "src/model": ["src/base"],
  "src/report": ["src/base", "src/model"],
  "src/timeline": ["src/base", "src/model"],
  "src/hardware": ["src/base", "src/model"],
  "src/analysis": ["src/base", "src/model", "src/hardware"],
  "src/trace-export": ["src/base", "src/model", "src/analysis"],
  "src/charts": ["src/base", "src/model"],
  "src/db": ["src/base", "src/model", "src/observe", "src/config"],
  "src/queue": ["src/base", "src/model", "src/observe", "src/config"],
  "src/artifacts": ["src/base", "src/model", "src/observe", "src/config"],
  "src/access": ["src/base", "src/model", "src/db"],
  "src/observe": ["src/base", "src/model", "src/config"],
  "src/leases": ["src/base", "src/model", "src/observe", "src/config"],
  "src/fleet": ["src/base", "src/model", "src/db"],
  // Hands on bytes: what it needs of readers, leases and the API is handed in.
  "src/capture": ["src/base", "src/model", "src/hardware"],
  "src/profiles": ["src/base", "src/model", "src/db", "src/queue", "src/artifacts", "src/fleet"],
  "src/http": ["src/base", "src/model", "src/config", "src/observe", "src/access"],
  routes: [
    "src/base",
    "src/model",
    "src/http",
    "src/profiles",
    "src/artifacts",
    "src/hardware",
    "src/charts",
    "src/access",
    "src/fleet",
    "src/leases",
  ],
  workers: [
    "src/base",
    "src/model",
    "src/report",
    // Analyses read timelines, and a capture ranks its own before it takes counters; both in processes of their own.
    "src/timeline",
    "src/hardware",
    "src/analysis",
    "src/trace-export",
    "src/capture",
    "src/leases",
    "src/profiles",
    "src/artifacts",
    "src/queue",
    "src/capture",
    "src/leases",
    "src/observe",
    "src/config",
  ],
  cli: [
    "src/base",
    "src/model",
    "src/report",
    "src/timeline",
    "src/hardware",
    "src/analysis",
    "src/trace-export",
    "src/charts",
  ],
};

const quoted = (text) => text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");

const folderRules = Object.entries(FOLDERS).map(([folder, allowed]) => ({
  name: `imports-of-${folder.replaceAll("/", "-")}`,
  comment: `${folder} may import only: ${[folder, ...allowed].join(", ")}`,
  severity: "error",
  from: { path: `^${quoted(folder)}/` },
  to: {
    path: "^(src|routes|workers|cli|bench|test|scripts)/",
    pathNot: [
      ...[folder, ...allowed].map((name) => `^${quoted(name)}(/|\\.ts$)`),
      // Named exception: routes refuse a wrong upload early by its first bytes.
      ...(folder === "routes" ? ["^src/(report|timeline)/detect\\.ts$"] : []),
      // Named exception: `profile-kernel serve` and `worker` start the service, the worker and its check.
      ...(folder === "cli" ? ["^src/(main|config|worker-main)\\.ts$", "^workers/check\\.ts$"] : []),
    ],
  },
}));

const packageRules = Object.entries(PACKAGES).map(([folder, allowed]) => ({
  name: `packages-of-${folder.replaceAll("/", "-")}`,
  comment: `${folder} may use only: ${allowed.map(([name]) => name).join(", ") || "no package"}`,
  severity: "error",
  from: { path: `^${quoted(folder)}/` },
  to: {
    dependencyTypes: ["npm", "npm-dev", "npm-optional", "npm-peer", "npm-no-pkg", "npm-unknown"],
    pathNot: allowed.map(([name]) => `node_modules/${quoted(name)}/`),
  },
}));

module.exports = {
  forbidden: [
    { name: "no-circular", severity: "error", from: {}, to: { circular: true } },
    { name: "not-to-unresolvable", severity: "error", from: {}, to: { couldNotResolve: true } },
    {
      name: "no-dev-dependency-in-product",
      severity: "error",
      from: { path: "^(src|routes|workers|cli)/" },
      to: { dependencyTypes: ["npm-dev"], dependencyTypesNot: ["type-only"], pathNot: "node_modules/@types/" },
    },
    {
      name: "pure-code-touches-no-port",
      comment: "Readers, analyses, hardware and charts read no file, clock, socket or process by themselves.",
      severity: "error",
      from: { path: "^src/(report|hardware|analysis|trace-export|charts|model)/" },
      to: { dependencyTypes: ["core"], pathNot: "^(node:)?(buffer|string_decoder|util)$" },
    },
    ...folderRules,
    ...packageRules,
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["import", "require", "node", "default", "types"],
    },
  },
};

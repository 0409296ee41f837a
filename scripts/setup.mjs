// Makes a machine ready: packages of package-lock.json, a redis-server, and with --tests what the tests need beside it.
// Does only what is missing; says what it does. Plain Node, because it runs before anything is installed.
import { execFileSync, spawnSync } from "node:child_process";
import { accessSync, constants, readdirSync, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const forTests = process.argv.includes("--tests");
const MINIMUM_NODE = [20, 19];

function fail(sentence) {
  console.error(`setup: ${sentence}`);
  process.exit(1);
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

const onPath = (program) =>
  (process.env.PATH ?? "").split(delimiter).some((folder) => isExecutable(join(folder, program)));

/** Debian keeps the server programs of Postgres outside PATH. */
function hasPostgres() {
  if (onPath("initdb") && onPath("postgres")) return true;
  try {
    return readdirSync("/usr/lib/postgresql").some((version) =>
      isExecutable(`/usr/lib/postgresql/${version}/bin/initdb`),
    );
  } catch {
    return false;
  }
}

function checkNode() {
  const [major, minor] = process.versions.node.split(".").map(Number);
  if (major < MINIMUM_NODE[0] || (major === MINIMUM_NODE[0] && minor < MINIMUM_NODE[1])) {
    fail(
      `Node ${MINIMUM_NODE.join(".")} or newer is needed, this is ${process.versions.node}; install a current LTS from https://nodejs.org and run the command again.`,
    );
  }
}

/** True where node_modules holds every package of the lock file at its version. */
function packagesAreInstalled() {
  try {
    const wanted = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")).packages;
    const present = JSON.parse(readFileSync(join(root, "node_modules/.package-lock.json"), "utf8")).packages;
    return Object.entries(wanted).every(
      ([path, entry]) =>
        path === "" || entry.optional || entry.devOptional || entry.peer || present[path]?.version === entry.version,
    );
  } catch {
    return false;
  }
}

function installPackages() {
  if (packagesAreInstalled()) {
    execFileSync(process.execPath, [join(root, "scripts/build.mjs")], { stdio: "inherit" });
    return;
  }
  console.log("setup: npm ci (packages of package-lock.json)");
  // Under `npm test` npm hands its own settings down; --include=dev holds whatever NODE_ENV says.
  const result = spawnSync("npm", ["ci", "--include=dev", "--no-audit", "--no-fund"], {
    cwd: root,
    stdio: "inherit",
    shell: process.platform === "win32",
  });
  if (result.status !== 0) fail("`npm ci` failed; its messages stand above. Mend that and run the command again.");
}

/** Argv prefix that may install packages here, or null. */
function packageManager() {
  const isRoot = process.getuid?.() === 0;
  if (onPath("apt-get")) {
    if (isRoot) return { tool: "apt-get", prefix: [] };
    if (onPath("sudo") && spawnSync("sudo", ["-n", "true"], { stdio: "ignore" }).status === 0)
      return { tool: "apt-get", prefix: ["sudo", "-n"] };
    return null;
  }
  return onPath("brew") ? { tool: "brew", prefix: [] } : null;
}

function installSystemPackages(needs) {
  const manager = packageManager();
  const names = needs.map((need) => (manager?.tool === "brew" ? need.brew : need.debian));
  const byHand = `Install ${needs.map((need) => need.what).join(" and ")} yourself (Debian or Ubuntu: \`sudo apt-get install ${needs.map((need) => need.debian).join(" ")}\`) and run the command again.`;
  if (manager === null) return byHand;
  const run = (args, env) =>
    spawnSync([...manager.prefix, manager.tool, ...args][0], [...manager.prefix, manager.tool, ...args].slice(1), {
      stdio: ["ignore", "ignore", "inherit"],
      env: { ...process.env, ...env },
    }).status === 0;
  console.log(`setup: ${manager.tool} install ${names.join(" ")}`);
  if (manager.tool === "brew") return run(["install", ...names], {}) ? null : byHand;
  const quiet = { DEBIAN_FRONTEND: "noninteractive" };
  const install = () => run(["install", "-y", "-q", "--no-install-recommends", ...names], quiet);
  if (!run(["update", "-q"], quiet) && !install()) return byHand;
  return install() ? null : byHand;
}

checkNode();
installPackages();

const redis = {
  what: "Redis 6.2 or newer",
  debian: "redis-server",
  brew: "redis",
  present: () => Boolean(process.env.REDIS_URL) || onPath("redis-server"),
  required: true,
};
const testNeeds = [
  {
    what: "PostgreSQL",
    debian: "postgresql",
    brew: "postgresql@15",
    present: hasPostgres,
    required: process.env.CI === "true",
  },
  { what: "curl", debian: "curl", brew: "curl", present: () => onPath("curl"), required: true },
  { what: "xz", debian: "xz-utils", brew: "xz", present: () => onPath("xz"), required: true },
];

const missing = [redis, ...(forTests ? testNeeds : [])].filter((need) => !need.present());
if (missing.length > 0) {
  const advice = installSystemPackages(missing);
  const still = missing.filter((need) => !need.present());
  if (still.some((need) => need.required))
    fail(advice ?? `${still.map((need) => need.what).join(" and ")} is still missing after the installation.`);
  for (const need of still)
    console.warn(`setup: ${need.what} is missing and could not be installed: the tests that need it are skipped.`);
}

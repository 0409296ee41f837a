import { constants } from "node:fs";
import { access, readdir, realpath } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { err, ok, type Result } from "../../base/result.ts";
import { describeFailure, helperEnvironment, runCommand } from "../process/command.ts";

/** Nsight Compute's command line on this host. */
export interface NcuTool {
  /** Absolute; links are followed. */
  readonly path: string;
  /** Such as `2025.3.1.0`. */
  readonly version: string;
  /** Names that `--set` takes; empty where they could not be read. */
  readonly sets: readonly string[];
  /** Options that versions differ in, asked of `--help`: the version alone does not tell. */
  readonly supports: { readonly mode: boolean; readonly processId: boolean; readonly communicator: boolean };
}

export interface NsysTool {
  readonly path: string;
  readonly version: string;
}

export interface HostTools {
  readonly ncu: Result<NcuTool, string>;
  readonly nsys: Result<NsysTool, string>;
}

/** Names on the PATH, or paths. */
export interface ToolSettings {
  readonly ncu: string;
  readonly nsys?: string | undefined;
  readonly env?: NodeJS.ProcessEnv;
  /** Folders in which installers put Nsight Compute without a link on the PATH; others in tests. */
  readonly installed?: readonly string[];
}

const TIME_LIMIT_MS = 30_000;
/** Where NVIDIA's packages put it: <folder>/<version>/ncu, newest first. */
const INSTALLED = ["/opt/nvidia/nsight-compute"];
const CUDA_BIN = "/usr/local/cuda/bin";

/** Finds ncu and nsys and asks them what they are. The errors are sentences. */
export async function readTools(settings: ToolSettings): Promise<HostTools> {
  const env = settings.env ?? process.env;
  const ncu = await findNcu(settings, env);
  return { ncu, nsys: await findNsys(settings, ncu.ok ? ncu.value.path : null, env) };
}

/**
 * The first ncu that is NVIDIA's: npm-check-updates installs a program of the same name. A wrapper that looks for its
 * folder relative to itself works only by its real path.
 */
async function findNcu(settings: ToolSettings, env: NodeJS.ProcessEnv): Promise<Result<NcuTool, string>> {
  const named = settings.ncu.includes("/");
  const candidates = named
    ? [settings.ncu]
    : [
        ...(await onPath(settings.ncu, env)),
        ...(await onPath(settings.ncu, { PATH: CUDA_BIN })),
        ...(await versionsOf(settings.installed ?? INSTALLED, settings.ncu)),
      ];
  const refused: string[] = [];
  for (const candidate of candidates) {
    const path = await realpath(candidate).catch(() => candidate);
    const tool = await askNcu(path, env);
    if (tool.ok) return tool;
    refused.push(tool.error);
  }
  return err(refused[0] ?? `${settings.ncu} was not found on the PATH or in ${INSTALLED.join(", ")}`);
}

async function askNcu(path: string, env: NodeJS.ProcessEnv): Promise<Result<NcuTool, string>> {
  const answer = await ask([path, "--version"], env);
  if (!answer.ok) return answer;
  if (!answer.value.includes("NVIDIA")) {
    return err(`${path} is not Nsight Compute: its --version says ${JSON.stringify(answer.value.trim().slice(0, 80))}`);
  }
  const version = /^Version (\d{1,4}(?:\.\d{1,6}){1,4})/m.exec(answer.value)?.[1];
  if (version === undefined) return err(`${path} does not say its version: ${answer.value.trim().slice(0, 200)}`);
  const [sets, help] = [await ask([path, "--list-sets"], env), await ask([path, "--help"], env)];
  const knows = (option: string): boolean => help.ok && new RegExp(`(^|[\\s,])${option}(?![\\w-])`).test(help.value);
  return ok({
    path,
    version,
    sets: sets.ok ? parseSets(sets.value) : [],
    supports: { mode: knows("--mode"), processId: knows("--process-id"), communicator: knows("--communicator") },
  });
}

/** Identifiers of the table of `ncu --list-sets`; lines that begin with a blank continue the one before. */
export function parseSets(text: string): string[] {
  const lines = text.split("\n");
  const rules = lines.flatMap((line, at) => (/^-+( -+)+\s*$/.test(line) ? [at] : []));
  const first = rules[1];
  if (first === undefined) return [];
  return lines
    .slice(first + 1)
    .flatMap((line) => /^([A-Za-z][\w.-]{0,63})\s/.exec(line)?.[1] ?? [])
    .slice(0, 100);
}

/** nsys by setting, on the PATH, or beside ncu, which ships one. */
async function findNsys(
  settings: ToolSettings,
  ncuPath: string | null,
  env: NodeJS.ProcessEnv,
): Promise<Result<NsysTool, string>> {
  const { nsys } = settings;
  const candidates = nsys?.includes("/") ? [nsys] : await onPath(nsys ?? "nsys", env);
  if (nsys === undefined) {
    if (ncuPath !== null) candidates.push(...besideNcu(ncuPath));
    // CUDA's own ncu is a script in another folder (measured: /usr/local/cuda-13.0/bin/ncu).
    for (const target of NSYS_TARGETS) {
      candidates.push(...(await versionsOf(settings.installed ?? INSTALLED, join("host", target, "nsys"))));
    }
  }
  const refused: string[] = [];
  for (const candidate of candidates) {
    const path = await realpath(candidate).catch(() => null);
    if (path === null) continue;
    const answer = await ask([path, "--version"], env);
    const version = answer.ok ? /version (\d[\w.-]{0,60})/i.exec(answer.value)?.[1] : undefined;
    if (version !== undefined) return ok({ path, version });
    refused.push(answer.ok ? `${path} does not say its version` : answer.error);
  }
  return err(refused[0] ?? `${nsys ?? "nsys"} was not found on the PATH${nsys === undefined ? " or beside ncu" : ""}`);
}

/** Nsight Compute 2025.3.1: <folder>/ncu and <folder>/host/target-linux-x64/nsys (arm servers: target-linux-sbsa-armv8). */
const NSYS_TARGETS = ["target-linux-x64", "target-linux-sbsa-armv8"];

const besideNcu = (ncuPath: string): string[] =>
  NSYS_TARGETS.map((target) => join(dirname(ncuPath), "host", target, "nsys"));

async function ask(argv: readonly string[], env: NodeJS.ProcessEnv): Promise<Result<string, string>> {
  const result = await runCommand(argv, { timeoutMs: TIME_LIMIT_MS, env: helperEnvironment(env) });
  return result.code === 0 ? ok(result.stdout) : err(describeFailure(argv, result));
}

async function onPath(name: string, env: NodeJS.ProcessEnv): Promise<string[]> {
  const paths: string[] = [];
  for (const folder of (env.PATH ?? "").split(delimiter)) {
    if (folder === "") continue;
    const path = join(folder, name);
    if (
      await access(path, constants.X_OK).then(
        () => true,
        () => false,
      )
    )
      paths.push(path);
  }
  return paths;
}

async function versionsOf(folders: readonly string[], name: string): Promise<string[]> {
  const found: string[] = [];
  for (const folder of folders) {
    const versions = (await readdir(folder).catch(() => [])).filter((version) => /^\d[\d.]*$/.test(version));
    versions.sort((a, b) => b.localeCompare(a, "en", { numeric: true }));
    for (const version of versions) found.push(...(await onPath(name, { PATH: join(folder, version) })));
  }
  return found;
}

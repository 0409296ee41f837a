// Options of Nsight Compute 2025.3.1 as far as the stand-in obeys them, and its refusals as recorded.
import { readFileSync } from "node:fs";

const logs = new URL("../fixtures/logs/", import.meta.url);
export const recorded = (name) => readFileSync(new URL(name, logs), "utf8");

/** Options with a value, by what they mean here. */
const WITH_VALUE = {
  "--mode": "mode",
  "--hostname": "hostname",
  "-p": "port",
  "--port": "port",
  "--max-connections": "maxConnections",
  "--config-file": "configFile",
  "-o": "output",
  "--export": "output",
  "--log-file": "logFile",
  "--replay-mode": "replayMode",
  "--target-processes": "targetProcesses",
  "--target-processes-filter": "targetProcessesFilter",
  "-k": "kernelName",
  "--kernel-name": "kernelName",
  "--kernel-name-base": "kernelNameBase",
  "--kernel-id": "kernelId",
  "-s": "launchSkip",
  "--launch-skip": "launchSkip",
  "-c": "launchCount",
  "--launch-count": "launchCount",
  "--filter-mode": "filterMode",
  "--set": "set",
  "--section": "section",
  "--metrics": "metrics",
  "--profile-from-start": "profileFromStart",
  "--cache-control": "cacheControl",
  "--clock-control": "clockControl",
  "--apply-rules": "applyRules",
  "--import-source": "importSource",
};
const FLAGS = {
  "-f": "force",
  "--force-overwrite": "force",
  "--version": "version",
  "--help": "help",
  "--list-sets": "listSets",
  "--list-sections": "listSections",
};
const SECTIONS = new Set(
  [...recorded("ncu-list-sections.txt").matchAll(/^([A-Za-z_]\w+)\s/gm)].map(([, name]) => name),
);

/** What ncu was asked for, or the lines with which it refuses. */
export function readOptions(argv) {
  const options = { sections: [], program: [] };
  let at = 0;
  for (; at < argv.length && argv[at].startsWith("-"); at++) {
    const [name, inline] = argv[at].split(/=(.*)/s);
    if (FLAGS[name]) options[FLAGS[name]] = true;
    else if (WITH_VALUE[name]) {
      const value = inline ?? argv[++at];
      if (WITH_VALUE[name] === "section") options.sections.push(value);
      else options[WITH_VALUE[name]] = value;
    } else return { refused: [`==ERROR== unrecognised option '${name}'. Use --help for further details.`] };
  }
  options.program = argv.slice(at);
  if (options.mode === "attach" && options.targetProcesses !== undefined) {
    return { refused: ["==ERROR== Invalid option --target-processes specified for --mode attach"] };
  }
  const unknown = options.sections.find((section) => !SECTIONS.has(section) && !section.startsWith("regex:"));
  if (unknown !== undefined) {
    return {
      refused: [
        `==ERROR== Option '--section ${unknown}' did not match any section.`,
        "==ERROR== Use --list-sections to see the list of available sections.",
      ],
    };
  }
  return { options };
}

/** Which of the launches, in program order, get counters: {@link readOptions}' filters over their function or mangled names. */
export function choose(launches, options) {
  const { kernelName, kernelNameBase, kernelId, launchSkip = "0", launchCount, filterMode } = options;
  const seen = new Map();
  const perName = new Map();
  const skip = Number(launchSkip);
  const count = launchCount === undefined ? Number.POSITIVE_INFINITY : Number(launchCount);
  return launches.filter(({ name: base, mangled }) => {
    const name = kernelNameBase === "mangled" ? mangled : base;
    const ordinal = (seen.get(name) ?? 0) + 1;
    seen.set(name, ordinal);
    if (kernelName !== undefined && !matches(kernelName, name)) return false;
    if (kernelId !== undefined && !matchesId(kernelId, name, ordinal)) return false;
    const key = filterMode === "per-launch-config" ? name : "";
    const nth = perName.get(key) ?? 0;
    perName.set(key, nth + 1);
    return nth >= skip && nth < skip + count;
  });
}

const matches = (wanted, name) =>
  wanted.startsWith("regex:") ? new RegExp(wanted.slice(6)).test(name) : wanted === name;

/** `context:stream:[regex:]name:invocation`; the last is a number or an expression over it. */
function matchesId(id, name, ordinal) {
  const rest = id.split(":").slice(2);
  const invocation = rest.pop() ?? "";
  const wanted = rest.join(":");
  if (wanted !== "" && !matches(wanted, name)) return false;
  return (
    invocation === "" ||
    (/^\d+$/.test(invocation) ? Number(invocation) === ordinal : new RegExp(invocation).test(String(ordinal)))
  );
}

#!/usr/bin/env node
// Stands in for nvidia-smi in tests: one H200 as recorded. STAND_IN_SMI, a list by commas, changes what it says; where it is
// not set, the text of a file `stand-in-smi` in TMPDIR or HOME, which a test can write while a worker runs:
// `no_gpu`, `no_driver`, `mig`, `process:PID` (another process on the GPU), `memory:MIB` (in use), `hot` (throttled),
// `gpus:N` (that many GPUs, uuids ending in 1 to N).
import { readFileSync } from "node:fs";
import { join } from "node:path";

const recorded = (name) => readFileSync(new URL(`../fixtures/logs/${name}`, import.meta.url), "utf8");
function fromFile() {
  for (const folder of [process.env.TMPDIR, process.env.HOME]) {
    try {
      if (folder) return readFileSync(join(folder, "stand-in-smi"), "utf8").trim();
    } catch {
      // Not there: the recording as it is.
    }
  }
  return "";
}
const told = (process.env.STAND_IN_SMI ?? fromFile()).split(",").filter((word) => word !== "");
const value = (name) => told.find((word) => word.startsWith(`${name}:`))?.slice(name.length + 1);
const args = process.argv.slice(2);
const option = (name) => args.find((arg) => arg.startsWith(`${name}=`))?.slice(name.length + 1);

/** Names that a query may use for a column of the recording. */
const ALIASES = {
  gpu_uuid: "uuid",
  gpu_name: "name",
  "clocks.sm": "clocks.current.sm",
  "clocks.mem": "clocks.current.memory",
  "clocks_throttle_reasons.active": "clocks_event_reasons.active",
  compute_capability: "compute_cap",
};

const [head = "", row = ""] = recorded("nvidia-smi-query-gpu.csv").trim().split("\n");
const headers = head.split(", ");
const units = new Map(
  headers.map((text) => text.split(" [")).map(([name, unit]) => [name, unit?.replace("]", "") ?? null]),
);
const cells = row.split(", ");

function gpus() {
  const count = Number(value("gpus") ?? 1);
  return Array.from({ length: count }, (_, at) => {
    const gpu = new Map(headers.map((text, column) => [text.split(" [")[0], cells[column]]));
    gpu.set("index", String(at));
    gpu.set("uuid", gpu.get("uuid").replace(/1$/, String(at + 1)));
    if (told.includes("mig")) gpu.set("mig.mode.current", "Enabled");
    if (told.includes("hot")) gpu.set("clocks_event_reasons.active", "0x0000000000000040");
    if (value("memory") !== undefined) gpu.set("memory.used", `${value("memory")} MiB`);
    return gpu;
  });
}

function print(names, rows, nameOf) {
  const format = option("--format") ?? "";
  const lines = format.includes("noheader") ? [] : [names.map(nameOf).join(", ")];
  for (const entry of rows) {
    lines.push(
      names
        .map((name) => (format.includes("nounits") ? entry(name).replace(/ (MiB|MHz|W|%)$/, "") : entry(name)))
        .join(", "),
    );
  }
  process.stdout.write(lines.map((line) => `${line}\n`).join(""));
}

function queryGpu(fields) {
  const names = fields.split(",").map((name) => ALIASES[name] ?? name);
  const unknown = names.find((name) => !units.has(name));
  if (unknown !== undefined) {
    process.stdout.write(`Field "${unknown}" is not a valid field to query.\n\n`);
    process.exitCode = 2;
    return;
  }
  const id = option("--id") ?? option("-i") ?? (args.includes("-i") ? args[args.indexOf("-i") + 1] : undefined);
  const rows = gpus().filter(
    (gpu) => id === undefined || id.split(",").some((one) => one === gpu.get("uuid") || one === gpu.get("index")),
  );
  print(
    names,
    rows.map((gpu) => (name) => gpu.get(name)),
    (name) => (units.get(name) === null ? name : `${name} [${units.get(name)}]`),
  );
}

function queryApps(fields) {
  const names = fields.split(",");
  const pid = value("process");
  const [gpu] = gpus();
  const app = {
    gpu_uuid: gpu.get("uuid"),
    pid,
    process_name: "./tiny",
    name: "./tiny",
    used_gpu_memory: "1352 MiB",
    used_memory: "1352 MiB",
  };
  print(names, pid === undefined ? [] : [(name) => app[name] ?? "[N/A]"], (name) =>
    /memory/.test(name) ? `${name} [MiB]` : name,
  );
}

if (told.includes("no_driver")) {
  process.stdout.write(
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed and running.\n\n",
  );
  process.exitCode = 9;
} else if (told.includes("no_gpu")) {
  process.stdout.write("No devices were found\n");
  process.exitCode = 6;
} else if (args.includes("-L")) {
  for (const gpu of gpus())
    process.stdout.write(`GPU ${gpu.get("index")}: ${gpu.get("name")} (UUID: ${gpu.get("uuid")})\n`);
} else if (option("--query-gpu") !== undefined) queryGpu(option("--query-gpu"));
else if (option("--query-compute-apps") !== undefined) queryApps(option("--query-compute-apps"));
else if (args.includes("-q")) process.stdout.write(recorded("nvidia-smi-q.txt"));
else process.stdout.write(recorded("nvidia-smi-busy.txt"));

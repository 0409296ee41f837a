// One replay: launches of a recorded report, printed and written one after the other as ncu does.
import { appendFileSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { choose, recorded } from "./ncu-options.mjs";
import { readReport } from "./report.mjs";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

/**
 * A scenario: `report`: fixture with the launches; `log`: recording whose lines around the launches are printed;
 * `delay_ms`: of one launch; `stops_in`: the launch of the program (from 0) that never ends, or STAND_IN_STOPS
 * names functions that never do; `fails_in`: the one that faults;
 * `exit`: exit code, default the program's.
 */
export function readScenario() {
  const name = process.env.STAND_IN_SCENARIO ?? "tiny-full";
  const scenario = JSON.parse(readFileSync(here(`scenarios/${name}.json`), "utf8"));
  if (process.env.STAND_IN_DELAY_MS !== undefined) scenario.delay_ms = Number(process.env.STAND_IN_DELAY_MS);
  return { name, delay_ms: 4, ...scenario };
}

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Where the lines of the tool go: each is written at once, also half of one (recorded: the log file grows dot by dot). */
export function toolLog(options) {
  if (options.logFile === undefined || options.logFile === "stdout") return (text) => writeSync(1, text);
  writeFileSync(options.logFile, "");
  return (text) => appendFileSync(options.logFile, text);
}

export class Session {
  constructor(options, scenario) {
    this.options = options;
    this.scenario = scenario;
    this.print = toolLog(options);
    this.path = options.output && (options.output.endsWith(".ncu-rep") ? options.output : `${options.output}.ncu-rep`);
    const { head, blocks } = scenario.report
      ? readReport(here(`../fixtures/${scenario.report}`))
      : { head: null, blocks: [] };
    this.head = head;
    this.blocks = blocks;
    this.launches = blocks.flatMap((block) => (block.launch ? [block.launch] : []));
    this.chosen = new Set(choose(this.launches, options));
    this.lines = scenario.log ? recorded(scenario.log).split("\n") : [];
    this.written = 0;
    this.finished = 0;
    this.faulted = false;
    /** The launch that is being replayed. */
    this.open = null;
    /** Set by a signal: no further launch begins. */
    this.stopping = false;
    this.stopped = new Promise((resolve) => {
      this.stop = () => {
        this.stopping = true;
        resolve(null);
      };
    });
  }

  /** Recorded lines of the tool before the first launch, from the connection on. */
  connected(pid, path) {
    for (const line of this.lines) {
      if (/Profiling "/.test(line)) break;
      if (/^==PROF== (Finding|Attaching|Disconnected|Report|Trying)/.test(line) || /^==ERROR==|No kernels/.test(line))
        continue;
      if (/^==PROF== Connected/.test(line)) this.print(`==PROF== Connected to process ${pid} (${path})\n`);
      else if (line.startsWith("==")) this.print(`${line}\n`);
    }
  }

  /** Replays the chosen launches. Returns when they are through, or `stopping` was set and the open one is decided. */
  async replay(pid) {
    const { delay_ms: delay, fails_in: failsIn } = this.scenario;
    // What is known before a launch runs needs no replay, and hangs nowhere.
    const { set, sections, metrics } = this.options;
    const isReplayed = set !== undefined || sections.length > 0 || metrics !== "launch__grid_size";
    const stopping = isReplayed ? process.env.STAND_IN_STOPS?.split(",") : undefined;
    const stopsIn =
      stopping === undefined
        ? this.scenario.stops_in
        : this.launches.findIndex((one) => this.chosen.has(one) && stopping.includes(one.name));
    const total = this.options.launchCount;
    let index = 0;
    for (const launch of this.launches) {
      if (!this.chosen.has(launch)) continue;
      if (this.stopping) return;
      const at = this.launches.indexOf(launch);
      const name =
        this.options.kernelId && this.options.kernelNameBase === "mangled"
          ? // Recorded for function names: tiny-kernel-id.txt.
            `1:13:${launch.mangled}:${this.launches.slice(0, at + 1).filter((one) => one.mangled === launch.mangled).length}`
          : printedName(launch);
      const number =
        this.options.kernelName || this.options.kernelId
          ? ""
          : ` - ${this.scenario.saves === 0 ? Math.min(index, 1) : index}`;
      const of = number !== "" && total !== undefined ? ` (${index + 1}/${total})` : "";
      this.open = name;
      this.print(
        `==PROF== Profiling "${stopsIn === at && this.scenario.stops_name ? this.scenario.stops_name : name}"${number}${of}: `,
      );
      if (stopsIn === at) return this.hang(pid);
      for (const step of ["0%", "....", "50%", "...."]) {
        this.print(step);
        await sleep(delay / 4);
        if (this.abandon) return;
      }
      const passes = this.passes();
      this.print(failsIn === at ? "100% - 1 pass\n" : `100% - ${passes} ${passes === 1 ? "pass" : "passes"}\n`);
      this.open = null;
      this.finished++;
      this.save(launch);
      if (failsIn === at) {
        this.faulted = true;
        return;
      }
      index++;
    }
  }

  passes() {
    const { metrics, set, sections } = this.options;
    if (set === undefined && sections.length === 0 && metrics !== undefined && metrics.split(",").length <= 8) return 1;
    return this.scenario.passes ?? 38;
  }

  /** A launch that waits for another one for ever. */
  async hang() {
    this.print("0%..");
    await sleep(this.scenario.hang_after_ms ?? 50);
    if (!this.stopping)
      this.print(`\n${this.lines.find((line) => line.includes("is taking more time than expected"))}\n`);
    while (!this.stopping) await sleep(10);
  }

  /** Writes the blocks up to a launch and those that follow it before the next one. */
  save(launch) {
    if (this.path === undefined || this.head === null) return;
    const { saves, cut_at_bytes: cut } = this.scenario;
    if (saves === 0) {
      if (this.written === 0)
        writeFileSync(this.path, Buffer.concat([this.head, ...this.blocks.map(({ bytes }) => bytes)]).subarray(0, cut));
      this.written = 1;
      this.print(`==ERROR== Failed to save the report to file ${this.path}\n`);
      return;
    }
    const parts = this.written === 0 ? [this.head] : [];
    for (; this.written < this.blocks.length; this.written++) {
      const block = this.blocks[this.written];
      if (block.launch === null || block.launch === launch) parts.push(block.bytes);
      else if (this.launches.indexOf(block.launch) > this.launches.indexOf(launch)) break;
      else if (block.without !== null) parts.push(block.without);
    }
    (parts[0] === this.head ? writeFileSync : appendFileSync)(this.path, Buffer.concat(parts));
  }

  /** What ncu prints when nothing matched. */
  nothingProfiled() {
    this.print("==WARNING== No kernels were profiled.\n");
    const names = [...new Set(this.launches.map(({ name }) => name))].sort();
    if (names.length > 0)
      this.print(`Available Kernels:\n${names.map((name, at) => `${at + 1}. ${name}`).join("\n")}\n`);
  }

  report() {
    if (this.path !== undefined && this.finished > 0 && this.scenario.saves !== 0)
      this.print(`==PROF== Report: ${this.path}\n`);
  }
}

/** ncu 2025.3.1: the demangled name up to 32 characters, else the function name, cut to 29 and three dots. */
function printedName({ name, demangled }) {
  if (demangled !== "" && demangled.length <= 32) return demangled;
  return name.length <= 32 ? name : `${name.slice(0, 29)}...`;
}

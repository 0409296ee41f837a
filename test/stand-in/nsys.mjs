#!/usr/bin/env node
// Stands in for Nsight Systems in tests: it runs the program and replays recorded timelines. It exists nowhere but in tests.
// STAND_IN_TIMELINES: fixtures of test/fixtures/timelines by commas, one a recording in turn (the last one again and again);
// `none`: no recording comes out; `empty`: an export without rows; `hangs`: nsys never ends. STAND_IN_NSYS_EXIT: exit code.
// A recording is a text that names its fixture: the real format is nobody's to write.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";

const fixtures = new URL("../fixtures/timelines/", import.meta.url);
const VERSION = "NVIDIA Nsight Systems version 2025.3.2.0-253236389321v0";
const SIGNED_OFF = 143;
const [command, ...args] = process.argv.slice(2);

/** Switches with a value of their own; long ones carry it behind `=`. */
const WITH_VALUE = new Set(["-t", "-s", "-o", "--type", "--output", "-w", "-f"]);
function read(all) {
  const options = new Map();
  let at = 0;
  for (; at < all.length && all[at].startsWith("-"); at++) {
    const [name, inline] = all[at].split(/=(.*)/s);
    if (inline !== undefined) options.set(name, inline);
    else if (WITH_VALUE.has(name)) options.set(name, all[++at]);
    else refuse(`unrecognised option '${name}'`);
  }
  return { options, rest: all.slice(at) };
}

function refuse(text) {
  process.stderr.write(`${text}\nusage: nsys [--version] [--help] <command> [<args>]\n`);
  process.exit(1);
}

/** The recording whose turn it is: counted in a file, since each run is a process of its own. */
function turn() {
  const list = (process.env.STAND_IN_TIMELINES ?? "h200-pipeline.nsys.sqlite.gz").split(",");
  const counter = join(process.env.TMPDIR ?? "/tmp", "stand-in-nsys-turn");
  const at = existsSync(counter) ? Number(readFileSync(counter, "utf8")) : 0;
  writeFileSync(counter, String(at + 1));
  return list[Math.min(at, list.length - 1)];
}

async function profile() {
  const { options, rest } = read(args);
  const output = options.get("-o");
  if (output === undefined || rest.length === 0) refuse("expected -o and a program");
  const recording = turn();
  const [program, ...more] = rest;
  const child = spawn(program, more, { stdio: ["ignore", "inherit", "inherit"] });
  const stopped = new Promise((resolve) => process.once("SIGINT", () => resolve("SIGINT")));
  const exited = once(child, "exit").then(([code]) => code);
  child.once("error", () => refuse(`The specified target application path '${program}' does not exist`));
  const how = recording === "hangs" ? await stopped : await Promise.race([exited, stopped]);
  if (how === "SIGINT") child.kill("SIGKILL");
  const path = output.endsWith(".nsys-rep") ? output : `${output}.nsys-rep`;
  process.stdout.write(`Generating '${path}.qdstrm'\n`);
  if (recording !== "none") {
    writeFileSync(path, `recording ${recording} range=${options.get("--capture-range") ?? "none"}\n`);
    process.stdout.write(`Generated:\n\t${path}\n`);
  }
  // Recorded: with a capture range nsys ends so, and nothing failed.
  const usual = options.has("--capture-range") ? SIGNED_OFF : 0;
  process.exit(Number(process.env.STAND_IN_NSYS_EXIT ?? (typeof how === "number" && how !== 0 ? how : usual)));
}

function exportSqlite() {
  const { options, rest } = read(args);
  if (options.get("--type") !== "sqlite") refuse("expected --type sqlite");
  const [, name] = /^recording (\S+)/.exec(readFileSync(rest[0], "utf8")) ?? refuse(`${rest[0]} is no recording`);
  const bytes = name === "empty" ? Buffer.from("SQLite format 3\0") : gunzipSync(readFileSync(new URL(name, fixtures)));
  writeFileSync(options.get("--output"), bytes);
  process.stdout.write(`Processing events...\n`);
}

if (command === "--version") process.stdout.write(`${VERSION}\n`);
else if (command === "profile") await profile();
else if (command === "export") exportSqlite();
else refuse(`unknown command ${command}`);

#!/usr/bin/env node
// Stands in for Nsight Systems in tests: it runs the program and replays recorded timelines. It exists nowhere but in tests.
// STAND_IN_TIMELINES: fixtures of test/fixtures/timelines by commas, one a recording in turn (the last one again and again);
// `none`: no recording comes out; `empty`: an export that is none; `no-kernels`: one without kernels; `damaged`: one whose
// second half is overwritten; `hangs`: nsys never ends. STAND_IN_NSYS_EXIT: exit code.
// A recording is a text that names its fixture: the real format is nobody's to write. As the real tool does, it writes the
// environment of the program into the export.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import Database from "libsql";

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

/** The window of an engine is closed: by its own call, of which it prints a line, or by `nsys stop`. The program goes with it. */
function windowEnds(options, child) {
  let line = "";
  const closed = new Promise((resolve) => {
    child.stdout.on("data", (chunk) => {
      process.stdout.write(chunk);
      line = (line + chunk).slice(-200);
      if (options.get("--capture-range-end") === "stop-shutdown" && line.includes("profile stopped")) resolve("window");
    });
  });
  const session = options.get("--session-new");
  if (session === undefined) return closed;
  return new Promise((resolve) => {
    const timer = setInterval(() => {
      if (!existsSync(sessionFile(session, "stop"))) return;
      clearInterval(timer);
      resolve("window");
    }, 10);
    timer.unref();
  });
}

const sessionFile = (session, verb) => join(process.env.TMPDIR ?? "/tmp", `stand-in-${session}-${verb}`);

/** `nsys start --session=NAME`, `nsys stop --session=NAME`. */
function inSession(verb) {
  const session = read(args).options.get("--session");
  if (session === undefined) refuse("expected --session");
  if (verb === "stop" && !existsSync(sessionFile(session, "start"))) refuse("The session is not collecting.");
  writeFileSync(sessionFile(session, verb), "");
}

async function profile() {
  const { options, rest } = read(args);
  const output = options.get("-o");
  if (output === undefined || rest.length === 0) refuse("expected -o and a program");
  const recording = turn();
  const [program, ...more] = rest;
  const child = spawn(program, more, { stdio: ["ignore", "pipe", "inherit"] });
  const shutDown = windowEnds(options, child);
  const stopped = new Promise((resolve) => process.once("SIGINT", () => resolve("SIGINT")));
  const exited = once(child, "exit").then(([code]) => code);
  child.once("error", () => refuse(`The specified target application path '${program}' does not exist`));
  const how = recording === "hangs" ? await stopped : await Promise.race([exited, stopped, shutDown]);
  if (how === "SIGINT") child.kill("SIGKILL");
  if (how === "window") {
    child.kill("SIGTERM");
    if ((await Promise.race([exited, stopped])) === "SIGINT") child.kill("SIGKILL");
  }
  const path = output.endsWith(".nsys-rep") ? output : `${output}.nsys-rep`;
  process.stdout.write(`Generating '${path}.qdstrm'\n`);
  if (recording !== "none") {
    const range = options.get("--capture-range") ?? "none";
    writeFileSync(path, `recording ${recording} range=${range}\n${JSON.stringify(process.env)}`);
    process.stdout.write(`Generated:\n\t${path}\n`);
  }
  // Recorded: with a capture range nsys ends so, and nothing failed.
  const usual = options.has("--capture-range") ? SIGNED_OFF : 0;
  process.exit(Number(process.env.STAND_IN_NSYS_EXIT ?? (typeof how === "number" && how !== 0 ? how : usual)));
}

function exportSqlite() {
  const { options, rest } = read(args);
  if (options.get("--type") !== "sqlite") refuse("expected --type sqlite");
  const [head, env] = readFileSync(rest[0], "utf8").split("\n");
  const [, name] = /^recording (\S+)/.exec(head) ?? refuse(`${rest[0]} is no recording`);
  const output = options.get("--output");
  const real = existsSync(new URL(name, fixtures)) ? name : "tiny-collective.nsys.sqlite.gz";
  const bytes = gunzipSync(readFileSync(new URL(real, fixtures)));
  if (name === "damaged") bytes.fill(0x5a, bytes.length / 2);
  writeFileSync(output, name === "empty" ? Buffer.from("SQLite format 3\0") : bytes);
  if (name !== "empty" && name !== "damaged") {
    const database = new Database(output);
    const insert = database.prepare("INSERT INTO META_DATA_CAPTURE (name, value) VALUES (?, ?)");
    for (const [key, value] of Object.entries(JSON.parse(env))) insert.run(`CAPTURE_ENVIRONMENT:${key}`, value);
    if (name === "no-kernels") database.exec("DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL");
    database.close();
  }
  process.stdout.write(`Processing events...\n`);
}

if (command === "--version") process.stdout.write(`${VERSION}\n`);
else if (command === "profile") await profile();
else if (command === "export") exportSqlite();
else if (command === "start" || command === "stop") inSession(command);
else refuse(`unknown command ${command}`);

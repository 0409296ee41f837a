/** Variable that marks every process of a group, also those that made a session of their own. */
export const GROUP_VARIABLE = "PROFILE_KERNEL_GROUP";

/** What is told to a guardian in the first line of its standard input. */
export type GuardianOrder =
  | {
      readonly kind: "run";
      readonly argv: readonly string[];
      readonly cwd: string;
      /** The whole environment of the program, without the marker. */
      readonly env: Readonly<Record<string, string>>;
      readonly marker: string;
      /** File that the group is written down in; removed when no process is left. */
      readonly record: string;
      /** Pid of the process that the guardian works for, written down with its start time. */
      readonly owner: number;
    }
  /** `mine`: the process that the group belongs to lives, and its guardian does not. */
  | { readonly kind: "leftover"; readonly record: string; readonly mine: boolean };

/** What a guardian says, a line of JSON each. */
export type GuardianWord =
  | { readonly say: "started"; readonly pid: number }
  | { readonly say: "failed"; readonly code: string }
  | { readonly say: "exit"; readonly code: number | null; readonly signal: NodeJS.Signals | null }
  /** No process of the group is left. `found`: processes that were there to be ended (leftovers only). */
  | { readonly say: "gone"; readonly found: number };

/** After SIGTERM, before SIGKILL, when the process that the guardian works for is gone. */
const OWNER_DIED_GRACE_MS = 2000;

/** The worker says this often that it is at work. */
export const ALIVE_INTERVAL_MS = 1000;

/**
 * A worker that stands still (stopped in its terminal, in a debugger, an event loop that is blocked) does not renew its
 * lease, nor does it see that it lost it: what it runs must be gone before somebody else gets the GPUs, 10 s later at
 * the earliest (a ttl of 15 s, renewed every 5 s). This, the interval, one look of the guardian and the grace are 9 s.
 */
const SILENT_FOR_MS = 5000;

/**
 * Text of the guardian, run by `node -e` in a session of its own. It starts the program as leader of a session, so the
 * program is its own child and cannot be mistaken for another process while it runs. Its standard input is a pipe from
 * the worker: first the order, then `alive` every second, `signal NAME` or `end NAME GRACE_MS`; when the pipe closes,
 * however the worker ended, or nothing is heard for some seconds, the group is ended. File descriptor 3 becomes the program's standard output and error.
 *
 * A process belongs to the group if its process group or session is the program's, if its parent belongs, if it was seen
 * to belong before (same pid and start time: fields 4, 5, 6 and 22 of /proc/<pid>/stat, proc(5)), or if it carries the
 * marker in its environment. Each alone can fail: a daemon leaves session and parent, setproctitle overwrites the
 * environment. Without /proc only the process group is known.
 */
export const GUARDIAN = `
"use strict";
const { spawn } = require("node:child_process");
const fs = require("node:fs");
const MARK = ${JSON.stringify(GROUP_VARIABLE)};
let heardAt = performance.now(), lookedAt = heardAt, watched = false;
let leader = 0, running = false, marker = "", record = "", ending = null, killing = false, startedAt = 0, killed = 0;
const known = new Map();
process.stdout.on("error", () => {});
const say = (word) => process.stdout.write(JSON.stringify(word) + "\\n");
// Writes to a pipe are synchronous (Node, "process I/O"), so nothing is lost here.
const leave = (word) => { say(word); process.exit(0); };
const read = (path) => { try { return fs.readFileSync(path, "latin1"); } catch { return null; } };
const boot = (read("/proc/sys/kernel/random/boot_id") || "").trim();
function stat(pid) {
  const text = read("/proc/" + pid + "/stat");
  if (text === null) return null;
  const field = text.slice(text.lastIndexOf(")") + 2).split(" ");
  if (field[0] === "Z" || field[0] === "X") return null;
  return { pid, parent: +field[1], group: +field[2], session: +field[3], start: +field[19] };
}
const startTime = (pid) => { const s = stat(pid); return s && boot + "/" + s.start; };
function members(withMarker) {
  let names;
  try { names = fs.readdirSync("/proc"); } catch { return null; }
  const all = new Map();
  for (const name of names) if (/^[0-9]+$/.test(name)) { const s = stat(+name); if (s && s.pid !== process.pid) all.set(s.pid, s); }
  const found = new Map();
  for (const s of all.values()) {
    // Pids are used again: none of the group is older than the group.
    if (s.start < startedAt) continue;
    const ours = (leader > 0 && (s.group === leader || s.session === leader)) || known.get(s.pid) === s.start ||
      (withMarker && marker !== "" && ("\\0" + read("/proc/" + s.pid + "/environ") + "\\0").includes("\\0" + MARK + "=" + marker + "\\0"));
    if (ours) found.set(s.pid, s);
  }
  for (let grew = true; grew; ) {
    grew = false;
    for (const s of all.values()) if (!found.has(s.pid) && found.has(s.parent) && s.start >= startedAt) { found.set(s.pid, s); grew = true; }
  }
  known.clear();
  for (const s of found.values()) known.set(s.pid, s.start);
  return [...found.values()];
}
const kill = (pid, signal) => { try { process.kill(pid, signal); return true; } catch { return false; } };
function signalAll(list, signal) {
  // The program is not reaped yet, so its number means its group.
  if (running) kill(-leader, signal);
  for (const s of list || []) {
    if (running && s.group === leader) continue;
    const now = stat(s.pid);
    if (now && now.start === s.start) kill(s.pid, signal);
  }
}
const inGroup = (list) => (list || []).filter((s) => s.group === leader || s.session === leader);
let timer = null, pause = 20;
function tick(now) { clearTimeout(timer); timer = setTimeout(watch, now ? 0 : pause); }
// Where this process stood still itself, the worker may have done so too: it gets its time again.
function listen() {
  const now = performance.now();
  if (now - lookedAt > 3000) heardAt = now;
  lookedAt = now;
  if (watched && !ending && !killing && now - heardAt > ${SILENT_FOR_MS}) ownerDied();
}
function watch() {
  listen();
  if (running && !ending && !killing) { members(false); pause = 1000; return tick(false); }
  const list = members(true);
  if (!running && (list === null || list.length === 0)) {
    if (record) try { fs.unlinkSync(record); } catch {}
    return leave({ say: "gone", found: killed });
  }
  const groupLeft = running || inGroup(list).length > 0;
  if (ending && !killing && (!groupLeft || Date.now() >= ending.deadline)) { killing = true; pause = 20; }
  if (killing) signalAll(list, "SIGKILL");
  pause = Math.min(killing || ending ? pause + 5 : pause * 1.5, 250);
  tick(false);
}
function end(signal, graceMs) {
  const deadline = Date.now() + graceMs;
  if (ending && ending.deadline <= deadline) return;
  const first = ending === null;
  ending = { deadline };
  if (first) signalAll(inGroup(members(true)), signal);
  pause = 20;
  tick(true);
}
const ownerDied = () => end("SIGTERM", ${OWNER_DIED_GRACE_MS});
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(signal, ownerDied);
function write(file, value) {
  try { fs.writeFileSync(file + ".new", JSON.stringify(value), { mode: 0o600 }); fs.renameSync(file + ".new", file); } catch {}
}
function run(order) {
  marker = order.marker;
  record = order.record;
  watched = true;
  heardAt = lookedAt = performance.now();
  const me = stat(process.pid);
  startedAt = me ? me.start : 0;
  const entry = { marker, pid: null, leader_start: null, start: startedAt, boot, owner: order.owner, owner_start_time: startTime(order.owner) };
  write(record, entry);
  const failed = (error) => {
    try { fs.unlinkSync(record); } catch {}
    leave({ say: "failed", code: error.code || String(error.message) });
  };
  let child;
  try {
    child = spawn(order.argv[0], order.argv.slice(1), { cwd: order.cwd, env: { ...order.env, [MARK]: marker }, stdio: ["ignore", 3, 3], detached: true });
  } catch (error) { return failed(error); }
  try { fs.closeSync(3); } catch {}
  if (child.pid === undefined) { child.on("error", failed); return; }
  child.on("error", () => {});
  leader = child.pid;
  running = true;
  write(record, { ...entry, pid: leader, leader_start: (stat(leader) || {}).start ?? null });
  say({ say: "started", pid: leader });
  child.on("exit", (code, signal) => { running = false; say({ say: "exit", code, signal }); pause = 20; tick(true); });
  tick(false);
}
function leftover(order) {
  record = order.record;
  let entry = null;
  try { entry = JSON.parse(fs.readFileSync(record, "utf8")); } catch {}
  if (entry === null) return leave({ say: "gone", found: 0 });
  // The process that it belongs to still runs: not a leftover.
  if (!order.mine && entry.owner_start_time !== null && startTime(entry.owner) === entry.owner_start_time) return leave({ say: "gone", found: 0 });
  // Another boot: none of its processes can be left.
  if (entry.boot === boot) {
    marker = String(entry.marker);
    startedAt = Number(entry.start) || 0;
    leader = Number(entry.pid) || 0;
    const now = leader ? stat(leader) : null;
    if (now && now.start !== entry.leader_start) leader = 0;
  }
  killed = (leader || marker ? members(true) || [] : []).length;
  killing = true;
  tick(true);
}
let text = "", told = false;
process.stdin.setEncoding("utf8");
process.stdin.on("data", (chunk) => {
  heardAt = performance.now();
  text += chunk;
  for (let at = text.indexOf("\\n"); at >= 0; at = text.indexOf("\\n")) {
    const line = text.slice(0, at);
    text = text.slice(at + 1);
    if (!told) { told = true; const order = JSON.parse(line); order.kind === "run" ? run(order) : leftover(order); continue; }
    const [word, signal, grace] = line.split(" ");
    if (word === "signal") signalAll(inGroup(members(true)), signal);
    else if (word === "end") end(signal, Number(grace));
  }
});
const closed = () => { if (!told) process.exit(0); if (!killing) ownerDied(); };
process.stdin.on("end", closed).on("error", closed);
`;

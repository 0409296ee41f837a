import { StringDecoder } from "node:string_decoder";
import { type NcuLineCode, programLine, toolLine } from "./lines.ts";
import { type LaunchEvent, LaunchScanner } from "./progress.ts";

export type NcuEvent =
  | { readonly kind: "connected"; readonly pid: number; readonly path: string | null }
  | { readonly kind: "disconnected"; readonly pid: number }
  | { readonly kind: "waiting_for_attach" }
  | { readonly kind: "attaching"; readonly pid: number; readonly port: number; readonly path: string | null }
  | LaunchEvent
  | { readonly kind: "report"; readonly path: string }
  | { readonly kind: "no_kernels" }
  | { readonly kind: "available_kernels"; readonly names: readonly string[] }
  | { readonly kind: "line"; readonly code: NcuLineCode; readonly text: string };

/** Lines of one code: how many, and the first and last few. */
export interface Evidence {
  readonly count: number;
  readonly lines: readonly string[];
}

/** What the output of a run has said so far. */
export interface NcuObservation {
  /** The first 64 processes that ncu connected to. */
  readonly connected: readonly { readonly pid: number; readonly path: string | null }[];
  readonly connections: number;
  readonly disconnections: number;
  readonly waitingForAttach: boolean;
  readonly attached: { readonly pid: number; readonly port: number; readonly path: string | null } | null;
  readonly launchesStarted: number;
  /** All passes were made. */
  readonly launchesFinished: number;
  readonly launchesAbandoned: number;
  /** The launch that is being replayed; null between launches. */
  readonly openLaunch: string | null;
  readonly lastKernel: string | null;
  /** As the tool counts them; null where it does not. */
  readonly done: number | null;
  readonly total: number | null;
  /** Passes of the last launch that was finished. */
  readonly passes: number | null;
  readonly report: string | null;
  /** ncu began to end the program before any error: it was told to from outside. */
  readonly endedFromOutside: boolean;
  readonly noKernels: boolean;
  /** Function names that ran when none was profiled; the first 200. */
  readonly availableKernels: readonly string[];
  /** `The application returned an error code (n).` */
  readonly applicationCode: number | null;
  readonly lines: ReadonlyMap<NcuLineCode, Evidence>;
}

const MAX_LINE = 16_384;
const KEPT_OF_LONG_LINE = 1024;
const MAX_EVIDENCE = 500;
const MAX_FIRST = 3;
const MAX_LAST = 2;
const MAX_CONNECTED = 64;
const MAX_KERNELS = 200;

const MARKER = /==(PROF|WARNING|ERROR)== /g;

/** Errors after which ncu itself ends the program, and its own earlier shutdown. */
const FAILURES: ReadonlySet<NcuLineCode> = new Set([
  "shutdown",
  "failed_to_profile",
  "launch_failed",
  "driver_error",
  "profile_error",
  "other_error",
]);

type Channel = "log" | "program";

/** One stream of bytes. */
interface ChannelState {
  readonly decoder: StringDecoder;
  /** The line that is not complete yet. */
  line: string;
  readonly launches: LaunchScanner;
  /** In the numbered list behind `Available Kernels:`. */
  inKernels: boolean;
}

/**
 * Reads what ncu and the program print, in pieces of any size, from the log file and from standard output. Tool text may
 * stand inside a line of the program and the other way round; the end of a launch may be lines behind its start.
 */
export class NcuOutput {
  readonly #tell: (event: NcuEvent) => void;
  readonly #channels: Record<Channel, ChannelState> = {
    log: channel((event) => this.#launch(event)),
    program: channel((event) => this.#launch(event)),
  };
  readonly #lines = new Map<NcuLineCode, { count: number; first: string[]; last: string[] }>();
  readonly #connected: { pid: number; path: string | null }[] = [];
  readonly #kernels: string[] = [];
  #connections = 0;
  #disconnections = 0;
  #waiting = false;
  #attached: NcuObservation["attached"] = null;
  #started = 0;
  #finished = 0;
  #abandoned = 0;
  #lastKernel: string | null = null;
  #done: number | null = null;
  #total: number | null = null;
  #passes: number | null = null;
  #report: string | null = null;
  #endedFromOutside = false;
  #noKernels = false;
  #applicationCode: number | null = null;

  constructor(tell: (event: NcuEvent) => void = () => {}) {
    this.#tell = tell;
  }

  push(chunk: Buffer, from: Channel = "log"): void {
    const state = this.#channels[from];
    this.#read(state, state.decoder.write(chunk));
  }

  /** The streams have ended: what is left without a line end is read too. */
  end(): void {
    for (const state of Object.values(this.#channels)) {
      this.#read(state, state.decoder.end());
      if (state.line !== "") this.#endLine(state);
    }
  }

  get observation(): NcuObservation {
    const lines = [...this.#lines].map(
      ([code, { count, first, last }]) => [code, { count, lines: [...first, ...last] }] as const,
    );
    return {
      connected: [...this.#connected],
      connections: this.#connections,
      disconnections: this.#disconnections,
      waitingForAttach: this.#waiting,
      attached: this.#attached,
      launchesStarted: this.#started,
      launchesFinished: this.#finished,
      launchesAbandoned: this.#abandoned,
      openLaunch: this.#channels.log.launches.open ?? this.#channels.program.launches.open,
      lastKernel: this.#lastKernel,
      done: this.#done,
      total: this.#total,
      passes: this.#passes,
      report: this.#report,
      endedFromOutside: this.#endedFromOutside,
      noKernels: this.#noKernels,
      availableKernels: [...this.#kernels],
      applicationCode: this.#applicationCode,
      lines: new Map(lines),
    };
  }

  #read(state: ChannelState, text: string): void {
    let from = 0;
    for (let at = nextBreak(text, 0); at >= 0; at = nextBreak(text, from)) {
      state.line += text.slice(from, at);
      this.#endLine(state);
      from = at + 1;
    }
    state.line += text.slice(from);
    state.launches.scan(state.line);
    if (state.line.length > MAX_LINE) {
      // A program that prints no line ends: what ncu may have put into it is looked at, the rest is let go.
      const kept = state.line.slice(-KEPT_OF_LONG_LINE);
      this.#toolLines(state, state.line.slice(0, -KEPT_OF_LONG_LINE));
      state.launches.cut(state.line.length - KEPT_OF_LONG_LINE, kept.lastIndexOf("=="));
      state.line = kept;
    }
  }

  #endLine(state: ChannelState): void {
    state.launches.scan(state.line);
    this.#toolLines(state, state.line);
    state.line = "";
    state.launches.nextLine();
  }

  #launch(event: LaunchEvent): void {
    if (event.kind === "launch_started") {
      this.#started++;
      this.#lastKernel = event.name;
      this.#done = event.done ?? this.#done;
      this.#total = event.total ?? this.#total;
    } else if (event.kind === "launch_finished") {
      if (event.complete) {
        this.#finished++;
        this.#passes = event.passes;
      } else this.#abandoned++;
    }
    this.#tell(event);
  }

  /** What a whole line says: each tool message in it, which may stand behind text of the program. */
  #toolLines(state: ChannelState, line: string): void {
    const markers = [...line.matchAll(MARKER)];
    const before = line.slice(0, markers[0]?.index);
    if (before.trim() !== "") this.#plainLine(state, before);
    markers.forEach((marker, n) => {
      const [text, kind = ""] = marker;
      this.#toolLine(state, kind, line.slice(marker.index + text.length, markers[n + 1]?.index).trimEnd());
    });
  }

  #plainLine(state: ChannelState, line: string): void {
    if (/^Available Kernels:\s*$/.test(line)) {
      state.inKernels = true;
      return;
    }
    if (state.inKernels) {
      const name = /^\d{1,6}\. (.{1,512})/.exec(line)?.[1];
      if (name === undefined) state.inKernels = false;
      else {
        if (this.#kernels.length < MAX_KERNELS) this.#kernels.push(name.trim());
        this.#tell({ kind: "available_kernels", names: [name.trim()] });
        return;
      }
    }
    const code = programLine(line);
    if (code !== null) this.#note(code, line.trim());
  }

  #toolLine(state: ChannelState, kind: string, text: string): void {
    if (text.startsWith('Profiling "')) {
      // Text of the program may stand behind the progress.
      const said = programLine(text);
      if (said !== null) this.#note(said, text);
      return;
    }
    state.inKernels = false;
    const code = toolLine(kind, text);
    if (code === null) return;
    const pid = Number(/process (?:'[^']*' \()?(\d{1,10})/i.exec(text)?.[1] ?? 0);
    switch (code) {
      case "connected": {
        const path = /\((.*)\)\s*$/.exec(text)?.[1] ?? null;
        this.#connections++;
        if (this.#connected.length < MAX_CONNECTED) this.#connected.push({ pid, path });
        this.#tell({ kind: "connected", pid, path });
        break;
      }
      case "disconnected":
        this.#disconnections++;
        this.#tell({ kind: "disconnected", pid });
        break;
      case "waiting_for_attach":
        this.#waiting = true;
        this.#tell({ kind: "waiting_for_attach" });
        break;
      case "attaching": {
        const port = Number(/on port (\d{1,5})/.exec(text)?.[1] ?? 0);
        const path = /process '(.*)' \(\d/.exec(text)?.[1] ?? null;
        this.#attached = { pid, port, path };
        this.#tell({ kind: "attaching", pid, port, path });
        break;
      }
      case "report":
        this.#report = text.slice("Report: ".length).trim();
        this.#tell({ kind: "report", path: this.#report });
        break;
      case "no_kernels":
        this.#noKernels = true;
        this.#tell({ kind: "no_kernels" });
        break;
      case "shutdown":
        this.#endedFromOutside ||= ![...this.#lines.keys()].some((seen) => FAILURES.has(seen));
        break;
      case "application_code":
        this.#applicationCode = Number(/\((-?\d+)\)/.exec(text)?.[1] ?? 0);
        break;
      case "failed_to_profile":
        state.launches.giveUp();
        break;
      default:
    }
    this.#note(code, `==${kind}== ${text}`);
  }

  #note(code: NcuLineCode, line: string): void {
    const text = line.length > MAX_EVIDENCE ? `${line.slice(0, MAX_EVIDENCE - 1)}…` : line;
    const seen = this.#lines.get(code) ?? { count: 0, first: [], last: [] };
    seen.count++;
    if (seen.first.length < MAX_FIRST) seen.first.push(text);
    else {
      seen.last.push(text);
      if (seen.last.length > MAX_LAST) seen.last.shift();
    }
    this.#lines.set(code, seen);
    this.#tell({ kind: "line", code, text });
  }
}

const channel = (tell: (event: LaunchEvent) => void): ChannelState => ({
  decoder: new StringDecoder("utf8"),
  line: "",
  launches: new LaunchScanner(tell),
  inKernels: false,
});

function nextBreak(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 10 || code === 13) return at;
  }
  return -1;
}

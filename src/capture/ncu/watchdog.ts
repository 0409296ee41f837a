import type { NcuPlan } from "./arguments.ts";
import type { NcuEvent } from "./output.ts";

export interface WatchdogLimits {
  /** From the start to `Connected to process`. */
  readonly startMs: number;
  /** Within a launch, and from the program's end to ncu's: without a byte of ncu and without growth of the report. */
  readonly stallMs: number;
  /** The same once ncu itself says that the launch takes too long. */
  readonly hangMs: number;
  /** The same between launches, where the program works and ncu has nothing to say; null: only the whole run is limited. */
  readonly idleMs: number | null;
  /** The whole run. */
  readonly totalMs: number;
}

/** Decides from what was seen of a run whether it has come to a stop. Knows no clock: times are handed in. */
export class Watchdog {
  readonly #limits: WatchdogLimits;
  readonly #mode: NcuPlan["mode"];
  #lastAlive = 0;
  #connected = 0;
  #disconnected = 0;
  #everConnected = false;
  #inLaunch = false;
  #hang = false;
  #reportBytes = 0;

  constructor(limits: WatchdogLimits, mode: NcuPlan["mode"]) {
    this.#limits = limits;
    this.#mode = mode;
  }

  /** When ncu last gave a sign of life. */
  get lastAlive(): number {
    return this.#lastAlive;
  }

  /** ncu wrote something to its log. What the program prints is no sign of life of ncu. */
  alive(at: number): void {
    this.#lastAlive = at;
  }

  saw(event: NcuEvent, at: number): void {
    this.#lastAlive = at;
    if (event.kind === "connected") {
      this.#connected++;
      this.#everConnected = true;
    } else if (event.kind === "disconnected") this.#disconnected++;
    else if (event.kind === "launch_started" || event.kind === "launch_finished") {
      this.#inLaunch = event.kind === "launch_started";
      this.#everConnected = true;
      this.#hang = false;
    } else if (event.kind === "line" && event.code === "hang") this.#hang = true;
  }

  /** True where the size has changed: launches are written one by one, so growth is a sign of life. */
  reportSize(bytes: number, at: number): boolean {
    if (bytes === this.#reportBytes) return false;
    this.#reportBytes = bytes;
    this.#lastAlive = at;
    return true;
  }

  expired(at: number): "start_limit" | "stall" | "time_limit" | null {
    const { startMs, stallMs, hangMs, idleMs, totalMs } = this.#limits;
    if (at > totalMs) return "time_limit";
    // A held program connects when it is attached to.
    if (!this.#everConnected) return this.#mode !== "launch" && at > startMs ? "start_limit" : null;
    const closing = this.#connected > 0 && this.#disconnected >= this.#connected;
    const limit =
      this.#inLaunch && this.#hang ? Math.min(hangMs, stallMs) : this.#inLaunch || closing ? stallMs : idleMs;
    return limit !== null && at - this.#lastAlive > limit ? "stall" : null;
  }
}

import type { StopReason } from "../src/capture/ncu/run.ts";
import type { CaptureEvent, CaptureOrder } from "../src/model/capture.ts";
import type { Progress } from "../src/model/profile.ts";
import { type Attempt, type CaptureApi, SupersededError } from "./capture-api.ts";

type CaptureState = Extract<CaptureEvent, { type: "state" }>["state"];

/** What a running capture and the API tell each other. */
export interface Conversation extends Attempt {
  readonly order: CaptureOrder;
  /** Fires when the capture must stop: canceled or taken over, lease lost, worker stopping. The reason is a StopReason. */
  readonly stop: AbortSignal;
  /** Told at once; what cannot be delivered is told with the next heartbeat. Never rejects. */
  state(state: CaptureState, progress: Progress | null): void;
  progress(progress: Progress): void;
  setLeaseToken(token: number | null): void;
  /** Stops the capture from this side. */
  halt(reason: StopReason): void;
  /** Asks now whether the capture is still wanted. */
  ask(): void;
  close(): void;
}

/** Cancel must end all processes within 5 s also where no wake-up arrives. */
const BEAT_INTERVAL_MS = 1_000;

/** Begins to speak for an attempt that was just begun. */
export function converse(api: CaptureApi, workerId: string, profileId: string, order: CaptureOrder): Conversation {
  const stopping = new AbortController();
  const { attempt } = order;
  let leaseToken: number | null = null;
  let state: CaptureState = "waiting_for_gpu";
  let toldState: CaptureState = "waiting_for_gpu";
  let progress: Progress | null = null;
  let isNew = false;
  let sending = false;
  let closed = false;

  const halt = (reason: StopReason): void => {
    if (!stopping.signal.aborted) stopping.abort(reason);
  };

  const beat = async (): Promise<void> => {
    if (sending || closed || stopping.signal.aborted) return;
    sending = true;
    const said = { state, progress };
    isNew = false;
    const speaker = { worker_id: workerId, attempt, lease_token: leaseToken };
    try {
      if (said.state !== toldState || said.progress === null) {
        await api.event(profileId, { type: "state", ...speaker, ...said });
        toldState = said.state;
      } else await api.event(profileId, { type: "progress", ...speaker, progress: said.progress });
    } catch (error) {
      if (error instanceof SupersededError) halt("canceled");
      else isNew = true;
    } finally {
      sending = false;
    }
    // What changed while the call was under way is told at once, after a failure with the next beat.
    if (isNew && (state !== said.state || progress !== said.progress)) void beat();
  };
  const timer = setInterval(() => void beat(), BEAT_INTERVAL_MS);

  return {
    profileId,
    attempt,
    order,
    stop: stopping.signal,
    state(next, now) {
      state = next;
      progress = now;
      isNew = true;
      void beat();
    },
    progress(now) {
      progress = now;
      isNew = true;
    },
    setLeaseToken(token) {
      leaseToken = token;
    },
    halt,
    ask: () => void beat(),
    close() {
      closed = true;
      clearInterval(timer);
    },
  };
}

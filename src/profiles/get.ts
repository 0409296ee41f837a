import { type ProfileRow, profileById } from "../db/profiles.ts";
import { FINAL_STATES } from "../model/profile.ts";
import { RefusedError } from "../model/refusal.ts";
import type { ProfilePorts } from "./ports.ts";

/** Wake-ups may be lost: who waits looks by itself this often. */
const LOOK_INTERVAL_MS = 3_000;

/** @throws RefusedError `not_found` */
export async function getProfile(ports: ProfilePorts, id: string): Promise<ProfileRow> {
  const row = await profileById(ports.database.kysely, id);
  if (row) return row;
  throw new RefusedError("not_found", `There is no profile ${id}.`);
}

/**
 * The profile as soon as its state changes, at the latest after `seconds`; at once where it is in a final state, the
 * client has gone (`signal`) or the service closes.
 * @throws RefusedError `not_found`
 */
export async function waitForProfile(
  ports: ProfilePorts,
  id: string,
  seconds: number,
  signal: AbortSignal,
): Promise<ProfileRow> {
  const deadline = performance.now() + seconds * 1000;
  // Listening begins before the first look, so that no change falls between the two.
  let changed = false;
  let wake = (): void => {};
  const notice = (): void => {
    changed = true;
    wake();
  };
  const stop = ports.wakeUps.listen(id, notice);
  signal.addEventListener("abort", notice, { once: true });
  try {
    const first = await getProfile(ports, id);
    let row = first;
    for (;;) {
      const left = deadline - performance.now();
      if (FINAL_STATES.has(row.state) || row.last_event !== first.last_event) return row;
      if (left <= 0 || signal.aborted || ports.wakeUps.closed) return row;
      if (!changed) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, Math.min(left, LOOK_INTERVAL_MS));
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
      changed = false;
      row = await getProfile(ports, id);
    }
  } finally {
    signal.removeEventListener("abort", notice);
    stop();
  }
}

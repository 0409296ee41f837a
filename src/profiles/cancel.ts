import { changeState, profileById } from "../db/profiles.ts";
import type { Profile } from "../model/profile.ts";
import { RefusedError } from "../model/refusal.ts";
import { queueOf } from "./job-queue.ts";
import type { Asker, ProfilePorts } from "./ports.ts";
import { profileView } from "./view.ts";

/**
 * Cancels a profile; whoever works on it finds its state final and stops. Cancelling twice changes nothing the second
 * time.
 * @throws RefusedError `not_found`; `role_missing` for a profile of another key; `not_cancelable` once it has succeeded
 * or failed.
 */
export async function cancelProfile(ports: ProfilePorts, asker: Asker, id: string): Promise<Profile> {
  const row = await ports.database.kysely.transaction().execute(async (transaction) => {
    const found = await profileById(transaction, id);
    if (!found) throw new RefusedError("not_found", `There is no profile ${id}.`);
    if (found.owner_key_id !== asker.keyId && !asker.isAdmin) {
      throw new RefusedError(
        "role_missing",
        "This profile belongs to another key; cancelling it needs the role admin.",
      );
    }
    const now = ports.now();
    const changed = await changeState(transaction, {
      id,
      from: ["queued", "waiting_for_gpu", "warming_up", "capturing", "analyzing"],
      to: "canceled",
      now_ms: now,
      columns: { progress: null, finished_at_ms: now },
    });
    return changed ?? (await profileById(transaction, id)) ?? found;
  });
  if (row.state !== "canceled") {
    throw new RefusedError("not_cancelable", `The profile has ${row.state} already; a final state does not change.`);
  }
  ports.wakeUps.publish(id);
  // Its job has nothing to do any more. One that stays, since a worker holds it or the queue is away, finds that out.
  await Promise.allSettled([queueOf(ports, row).remove(id)]);
  return profileView(row);
}

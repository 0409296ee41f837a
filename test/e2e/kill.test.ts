import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { processStartTime } from "../../src/base/process-identity.ts";
import { FINAL_STATES } from "../../src/model/profile.ts";
import { onBothDatabases } from "../helpers/databases.ts";
import { fixture, H200 } from "../helpers/fixtures.ts";
import { startServiceProcess } from "../helpers/process.ts";
import { clientOf, submit, untilFinal, upload } from "../helpers/service.ts";
import { until } from "../helpers/until.ts";

const SMALL = fixture(`${H200}h200-graph-nodes.ncu-rep.gz`);
/** The service is killed when this many submissions were answered: early, in the middle, late. */
const KILL_AFTER = [1, 7, 16, 24];
const BURST = 24;
/** Five starts and a hundred analyses: only a hang takes this long. */
const LIMIT_MS = 300_000;

await onBothDatabases((database) => {
  it(
    "loses nothing and ends each profile once when it is killed again and again",
    async () => {
      const settings = await database.settings();
      const acknowledged = new Set<string>();
      const servers: { pid: number; start_time: string }[] = [];
      for (const killAfter of KILL_AFTER) {
        const service = await startServiceProcess({ ...settings, ANALYSIS_CONCURRENCY: "2" });
        servers.push(JSON.parse(readFileSync(join(settings.DATA_DIR, "redis", "process.json"), "utf8")));
        const call = clientOf(service.url);
        const { id } = await upload(call, SMALL);
        let answered = 0;
        let killed: Promise<unknown> | null = null;
        await Promise.allSettled(
          Array.from({ length: BURST }, async (_, index) => {
            const profile = await submit(call, id, { labels: { index: String(index) } });
            acknowledged.add(profile.id);
            answered += 1;
            if (answered >= killAfter) killed ??= service.end("SIGKILL");
          }),
        );
        await killed;
        // The Redis of the killed service must not stay behind.
        for (const { pid, start_time } of servers)
          await until(async () => (await processStartTime(pid)) !== start_time);
      }
      expect(acknowledged.size).toBeGreaterThanOrEqual(KILL_AFTER.reduce((sum, count) => sum + count, 0));

      const service = await startServiceProcess(settings);
      const call = clientOf(service.url);
      for (const id of acknowledged) expect(await untilFinal(call, id)).toMatchObject({ id, state: "succeeded" });
      // Taken in and never acknowledged: the client knows nothing of them, and they end all the same.
      await until(async () =>
        (await call("GET", "/metrics")).body.includes('profile_kernel_queue_jobs{queue="analysis",state="active"} 0'),
      );
      for (const state of ["queued", "analyzing"]) {
        await until(async () => (await call("GET", `/profiles?state=${state}`)).body.items.length === 0);
      }
      expect(await service.end("SIGTERM")).toBe(0);

      const opened = await database.open(settings);
      const rows = await opened.kysely.selectFrom("profiles").select(["id", "state", "last_event"]).execute();
      const known = new Set(rows.map(({ id }) => id));
      expect([...acknowledged].filter((id) => !known.has(id))).toEqual([]);
      for (const { id, state, last_event } of rows) {
        expect(FINAL_STATES.has(state)).toBe(true);
        const events = await opened.kysely
          .selectFrom("events")
          .select(["seq", "type"])
          .where("profile_id", "=", id)
          .orderBy("seq")
          .execute();
        expect(events.map(({ seq }) => seq)).toEqual(Array.from({ length: last_event }, (_, index) => index + 1));
        expect(events.filter(({ type }) => FINAL_STATES.has(type.replace("profile.", "") as never))).toHaveLength(1);
        const results = await opened.kysely
          .selectFrom("results")
          .select("sha256")
          .where("profile_id", "=", id)
          .execute();
        expect(results).toHaveLength(1);
      }
      await opened.close();
    },
    LIMIT_MS,
  );
});

import { afterEach, expect, it } from "vitest";
import type { CaptureEvent, CaptureOrder } from "../../src/model/capture.ts";
import { type CaptureApi, SupersededError } from "../../workers/capture-api.ts";
import { type Conversation, converse } from "../../workers/capture-conversation.ts";
import { until } from "../helpers/until.ts";

const ORDER: CaptureOrder = {
  attempt: 2,
  workload: "tiny",
  session_id: null,
  request: { target: "k", engine: "none", model: "m", concurrency: 1, top_n: 10, rank: 0, objective: "bottleneck" },
};
const at = (done: number) => ({ phase: "counters", done, total: 9, message: null });

const open: Conversation[] = [];
afterEach(() => {
  for (const talk of open.splice(0)) talk.close();
});

/** A conversation with an API whose answers are decided here. */
function talkTo(answer: (event: CaptureEvent) => Promise<CaptureOrder>) {
  const heard: CaptureEvent[] = [];
  const api = {
    event(_profile: string, event: CaptureEvent) {
      heard.push(event);
      return answer(event);
    },
  } as CaptureApi;
  const talk = converse(api, "w1", "p1", ORDER);
  open.push(talk);
  return { talk, heard };
}

it("tells a state at once, with its attempt and its lease", async () => {
  const { talk, heard } = talkTo(async () => ORDER);
  talk.setLeaseToken(7);
  talk.state("capturing", at(1));
  expect(heard).toEqual([
    { type: "state", worker_id: "w1", attempt: 2, lease_token: 7, state: "capturing", progress: at(1) },
  ]);
});

it("tells the newest of what came while a call was under way, and no more", async () => {
  let answerNow = (): void => {};
  const { talk, heard } = talkTo((event) =>
    event.type === "state"
      ? new Promise((resolve) => {
          answerNow = () => resolve(ORDER);
        })
      : Promise.resolve(ORDER),
  );
  talk.state("capturing", at(1));
  for (const done of [2, 3, 4]) talk.progress(at(done));
  expect(heard).toHaveLength(1);
  answerNow();
  await until(() => heard.length === 2);
  expect(heard[1]).toEqual({ type: "progress", worker_id: "w1", attempt: 2, lease_token: null, progress: at(4) });
});

it("repeats with its heartbeat what did not arrive", async () => {
  let away = true;
  const { talk, heard } = talkTo(() => (away ? Promise.reject(new Error("away")) : Promise.resolve(ORDER)));
  talk.state("warming_up", null);
  await until(() => heard.length === 1);
  away = false;
  await until(() => heard.length === 2);
  expect(heard.map((event) => event.type === "state" && event.state)).toEqual(["warming_up", "warming_up"]);
  expect(talk.stop.aborted).toBe(false);
});

it("stops the capture when it is told that it is over, and asks no more", async () => {
  const { talk, heard } = talkTo(() => Promise.reject(new SupersededError("canceled")));
  talk.ask();
  await until(() => talk.stop.aborted);
  expect(talk.stop.reason).toBe("canceled");
  talk.ask();
  talk.halt("lease_lost");
  expect(talk.stop.reason).toBe("canceled");
  expect(heard).toHaveLength(1);
});

it("says nothing after its end", () => {
  const { talk, heard } = talkTo(async () => ORDER);
  talk.close();
  talk.state("capturing", null);
  talk.ask();
  expect(heard).toEqual([]);
});

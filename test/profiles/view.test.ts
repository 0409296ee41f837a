import { expect, it } from "vitest";
import type { ProfileRow } from "../../src/db/profiles.ts";
import type { ResolvedRequest } from "../../src/model/profile.ts";
import { profileView } from "../../src/profiles/view.ts";

const request = (source: ResolvedRequest["source"]): ResolvedRequest => ({
  target: "k",
  model: null,
  engine: null,
  concurrency: 1,
  top_n: 10,
  rank: 0,
  objective: "bottleneck",
  ...(source === undefined ? {} : { source }),
});

const row: ProfileRow = {
  id: "01a23007-a5e8-7481-a240-6068bf8be8a2",
  schema_version: 1,
  state: "queued",
  last_event: 1,
  source_kind: "command",
  target: "k",
  model: null,
  model_key: null,
  engine: null,
  session: null,
  revision: null,
  fingerprint: "",
  request: "{}",
  labels: "{}",
  progress: null,
  failure: null,
  attempt: 0,
  owner_key_id: null,
  pool: "default",
  workload: null,
  worker_id: null,
  capture_attempts: 0,
  capture: null,
  created_at_ms: 1,
  updated_at_ms: 1,
  started_at_ms: null,
  finished_at_ms: null,
};

it("shows of a command neither its variables nor what looks like a secret: every reader sees a profile", () => {
  const source = {
    kind: "command" as const,
    argv: ["./bench", "--token", "abcdef123456", "--api-key=ghijkl789012", "--batch", "8", "tenant-secret-value"],
    env: { API_TOKEN: "tenant-secret-value", MODE: "fast" },
  };
  const shown = profileView(row, request(source)).request.source;
  expect(shown).toEqual({
    kind: "command",
    argv: ["./bench", "--token", "[redacted]", "--api-key=[redacted]", "--batch", "8", "[redacted]"],
    env: { API_TOKEN: "[redacted]", MODE: "[redacted]" },
  });
});

it("shows other requests as they are", () => {
  const given = request({ kind: "workload", name: "tiny" });
  expect(profileView(row, given).request).toBe(given);
});

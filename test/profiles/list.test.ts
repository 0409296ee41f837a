import { v7 as uuidv7 } from "uuid";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { ProfileRow } from "../../src/db/profiles.ts";
import { modelKey } from "../../src/model/model-name.ts";
import { type ListQuery, listProfilePage } from "../../src/profiles/list.ts";
import { onBothDatabases } from "../helpers/databases.ts";
import { openTestPorts, type TestPorts } from "../helpers/ports.ts";

const COUNT = 5_000;
const MODELS = ["deepseek-ai/DeepSeek-V3", "Qwen/Qwen3-8B"];

function profileRow(index: number): ProfileRow {
  const model = MODELS[index % 2] ?? "";
  const target = index % 5 === 0 ? "full pipeline" : `kernel_${index % 7}`;
  // Many at the same moment: the id has to tell them apart.
  const created_at_ms = 1_700_000_000_000 + Math.floor(index / 50);
  return {
    id: uuidv7(),
    schema_version: 1,
    state: "queued",
    last_event: 1,
    source_kind: "report",
    pool: null,
    workload: null,
    worker_id: null,
    capture_attempts: 0,
    capture: null,
    target,
    model,
    model_key: modelKey(model),
    engine: index % 3 === 0 ? "vllm" : "sglang",
    session: `s${index % 10}`,
    revision: null,
    fingerprint: "",
    request: JSON.stringify({ target }),
    labels: "{}",
    progress: null,
    failure: null,
    attempt: 0,
    owner_key_id: null,
    created_at_ms,
    updated_at_ms: created_at_ms,
    started_at_ms: null,
    finished_at_ms: null,
  };
}

await onBothDatabases((database) => {
  let test: TestPorts;
  beforeAll(async () => {
    test = await openTestPorts(database);
    for (let first = 0; first < COUNT; first += 500) {
      const rows = Array.from({ length: 500 }, (_, offset) => profileRow(first + offset));
      await test.database.kysely.insertInto("profiles").values(rows).execute();
    }
  });
  afterAll(() => test.close());

  async function walk(query: Partial<ListQuery>): Promise<{ id: string; created_at: string }[]> {
    const items = [];
    let cursor: string | null = null;
    do {
      const page: Awaited<ReturnType<typeof listProfilePage>> = await listProfilePage(test.ports, {
        limit: 200,
        ...query,
        ...(cursor ? { cursor } : {}),
      });
      items.push(...page.items);
      cursor = page.next_cursor;
    } while (cursor !== null);
    return items;
  }

  it("shows each of 5,000 profiles once, newest first", async () => {
    const items = await walk({});
    expect(items).toHaveLength(COUNT);
    expect(new Set(items.map(({ id }) => id)).size).toBe(COUNT);
    const order = items.map(({ created_at, id }) => `${created_at} ${id}`);
    expect(order).toEqual([...order].sort().reverse());
  });

  it("keeps its place while profiles come in", async () => {
    const first = await listProfilePage(test.ports, { limit: 10 });
    await test.submit();
    const second = await listProfilePage(test.ports, { limit: 10, cursor: first.next_cursor ?? "" });
    const all = (await walk({})).slice(1).map(({ id }) => id);
    expect([...first.items, ...second.items].map(({ id }) => id)).toEqual(all.slice(0, 20));
  });

  it("filters, whatever the spelling of the model and the pipeline", async () => {
    expect(await walk({ model: "DeepSeek V3" })).toHaveLength(COUNT / 2);
    expect(await walk({ engine: "VLLM" })).toHaveLength(Math.ceil(COUNT / 3));
    expect(await walk({ target: "Full-Pipeline" })).toHaveLength(COUNT / 5);
    expect(await walk({ session: "s3", state: "queued" })).toHaveLength(COUNT / 10);
    expect(await walk({ state: "succeeded" })).toEqual([]);
  });

  it("refuses a cursor of another filter, and one that is none", async () => {
    const { next_cursor } = await listProfilePage(test.ports, { limit: 1, engine: "vllm" });
    await expect(
      listProfilePage(test.ports, { limit: 1, engine: "sglang", cursor: next_cursor ?? "" }),
    ).rejects.toMatchObject({ code: "invalid_query" });
    for (const cursor of ["", "x", "e30", Buffer.from('[1,"x","y"]').toString("base64url")]) {
      await expect(listProfilePage(test.ports, { limit: 1, cursor })).rejects.toMatchObject({ code: "invalid_query" });
    }
  });
});

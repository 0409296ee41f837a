import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { fillIn } from "../../src/capture/workloads/placeholders.ts";
import { readWorkloads, workloadsProblemText } from "../../src/capture/workloads/workloads.ts";
import { type WorkloadsFile, workloadsFileSchema } from "../../src/model/workload.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const READY_MADE = readdirSync(join(ROOT, "docs/workloads")).map((name) => `docs/workloads/${name}`);

function read(path: string): WorkloadsFile {
  const result = readWorkloads(readFileSync(join(ROOT, path), "utf8"), path);
  if (!result.ok) throw new Error(result.error.map(workloadsProblemText).join("\n"));
  return result.value;
}

describe("ready-made workloads", () => {
  it("are there for both engines and both models", () => {
    expect(READY_MADE.sort()).toEqual([
      "docs/workloads/sglang-deepseek-v3.yaml",
      "docs/workloads/sglang-kimi-k2.6.yaml",
      "docs/workloads/single-gpu-dummy-weights.yaml",
      "docs/workloads/vllm-deepseek-v3.yaml",
      "docs/workloads/vllm-kimi-k2.6.yaml",
    ]);
  });

  it.each([...READY_MADE, "test/gpu/workloads.yaml"])("%s can be used as it is", (path) => {
    const { workloads } = read(path);
    expect(workloads.length).toBeGreaterThan(0);
    for (const workload of workloads) {
      const values = {
        model: workload.model,
        concurrency: 1,
        seed: 1,
        gpus: workload.gpus,
        rank: 0,
        output_dir: "/tmp/out",
        ...(workload.kind === "server" ? { port: workload.port } : {}),
      };
      const argv = fillIn(
        workload.kind === "server" ? [...workload.argv, ...workload.counter_args] : workload.argv,
        values,
      );
      // JSON in an argument stays JSON.
      for (const json of argv.flatMap((argument) => /=(\{.*)$/.exec(argument)?.[1] ?? [])) JSON.parse(json);
      if (workload.kind === "server" && path !== "test/gpu/workloads.yaml")
        expect(argv.some((argument) => /prefix-caching|radix-cache/.test(argument))).toBe(true);
    }
  });

  it("name each model and engine once, so that a request finds one of them", () => {
    const { workloads } = read("test/gpu/workloads.yaml");
    expect(new Set(workloads.map(({ model, engine }) => `${model} ${engine}`)).size).toBe(workloads.length);
    expect(workloads.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["tiny", "kernels-moe", "engine-bench", "engine-serve", "engine-serve-per-tool"]),
    );
  });
});

/** Names of all fields of a JSON schema. */
function fieldsOf(schema: unknown): string[] {
  if (typeof schema !== "object" || schema === null) return [];
  const properties = "properties" in schema && typeof schema.properties === "object" ? schema.properties : null;
  return [...Object.keys(properties ?? {}), ...Object.values(schema).flatMap(fieldsOf)];
}

describe("docs/workloads.md", () => {
  it("names every field of the schema", () => {
    const page = readFileSync(join(ROOT, "docs/workloads.md"), "utf8");
    const fields = new Set(fieldsOf(z.toJSONSchema(workloadsFileSchema, { io: "input" })));
    expect(fields.size).toBeGreaterThan(40);
    expect([...fields].filter((field) => !page.includes(`\`${field}\``))).toEqual([]);
  });
});

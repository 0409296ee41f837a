import { describe, expect, it } from "vitest";
import { looksSecret, redactor } from "../../src/base/redact.ts";

const clean = redactor(["geheim-wort", "abc", "geheim-wort-2"]);

describe("redaction", () => {
  it.each([
    ["HF_TOKEN=hf_aaaa", "HF_TOKEN=[redacted]"],
    ['"api_key": "verysecret"', '"api_key": "[redacted]"'],
    ["vllm serve --api-key verysecret --port 1", "vllm serve --api-key [redacted] --port 1"],
    ["--password=verysecret x", "--password=[redacted] x"],
    ["Authorization: Bearer abcdefghijkl", "Authorization: Bearer [redacted]"],
    ["redis://user:hunter22@host:6379/0", "redis://user:[redacted]@host:6379/0"],
    ["postgres://:pw@host/db", "postgres://:[redacted]@host/db"],
    ["got hf_ABCDEFGHIJKLMNOPQRST here", "got [redacted] here"],
    ["key AKIAABCDEFGHIJKLMNOP", "key [redacted]"],
    ["eyJhbGciOiJI.eyJzdWIiOiIx.abcdefghij", "[redacted]"],
    ["it is geheim-wort-2 and geheim-wort", "it is [redacted] and [redacted]"],
  ])("%s", (text, expected) => expect(clean(text)).toBe(expected));

  it.each([
    '==PROF== Profiling "fma_chain(float *, int)" - 1: 0%....50%....100% - 38 passes',
    "max_tokens 128, tokens per second: 1234.5 tok/s",
    "abc stays: a short value would take words away",
    "http://127.0.0.1:8000/v1/completions",
    "Loading tokenizer from /models/x",
  ])("leaves %s", (text) => expect(clean(text)).toBe(text));

  it("can be done twice", () => {
    const once = clean("HF_TOKEN=hf_aaaa --api-key verysecret redis://u:pw@h");
    expect(clean(once)).toBe(once);
  });

  it("knows names of secrets", () => {
    for (const name of [
      "HF_TOKEN",
      "AWS_SECRET_ACCESS_KEY",
      "MYSQL_PWD",
      "API_KEY",
      "DATABASE_URL",
      "GITHUB_PAT",
      "NGC_API_KEY",
    ])
      expect(looksSecret(name)).toBe(true);
    for (const name of ["PATH", "USER", "LANG", "CUDA_HOME", "KEYBOARD"])
      expect([name, looksSecret(name)]).toEqual([name, false]);
  });

  it("takes time that grows with the text only", () => {
    const from = performance.now();
    clean(`${"token".repeat(20_000)} ${"a:".repeat(20_000)} ${"--".repeat(20_000)} ${"x.".repeat(20_000)}`);
    expect(performance.now() - from).toBeLessThan(2000);
  });
});

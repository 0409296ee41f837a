import { expect, it } from "vitest";
import { ConfigError, isLoopback, readConfig, settingsSchema } from "../src/config.ts";

it("needs nothing to be set", () => {
  const config = readConfig({});
  expect(config).toMatchObject({ ROLE: "all", HOST: "127.0.0.1", PORT: 8080, MAX_REPORT_BYTES: 2 * 1024 ** 3 });
  expect(config.DATA_DIR).toMatch(/^\/.*\.profile-kernel$/);
  expect(config.REDIS_URL).toBeUndefined();
});

it("explains each setting", () => {
  for (const [name, schema] of Object.entries(settingsSchema.shape)) expect(schema.description, name).toBeTruthy();
});

it.each([
  ["512", 512],
  ["1KiB", 1024],
  ["2 GiB", 2 * 1024 ** 3],
  ["1.5MB", 1_500_000],
  ["10b", 10],
])("reads %s as bytes", (text, expected) => {
  expect(readConfig({ MAX_REPORT_BYTES: text }).MAX_REPORT_BYTES).toBe(expected);
});

it("takes an empty variable for an unset one", () => {
  expect(readConfig({ PORT: "", REDIS_URL: "" })).toMatchObject({ PORT: 8080 });
});

it.each([
  [{ PORT: "http" }, /^Wrong setting\. PORT=http: /],
  [{ PORT: "70000" }, /PORT=70000: /],
  [{ ROLE: "boss" }, /ROLE=boss: expected one of "all"\|"api"/],
  [{ MAX_REPORT_BYTES: "lots" }, /MAX_REPORT_BYTES=lots: expected bytes, such as/],
  [{ LOG_LEVEL: "loud" }, /LOG_LEVEL=loud: /],
  [{ ROLE: "webhook" }, /^ROLE=webhook is not part of this version\. Use all, api, analysis or capture\.$/],
  [{ ROLE: "capture" }, /^ROLE=capture needs REDIS_URL, API_URL, WORKLOADS_FILE: /],
  [
    { ROLE: "capture", REDIS_URL: "redis://localhost", API_URL: "http://localhost" },
    /^ROLE=capture needs WORKLOADS_FILE: /,
  ],
  [{ ROLE: "api" }, /^ROLE=api needs REDIS_URL and DATABASE_URL/],
  [{ ROLE: "analysis", REDIS_URL: "redis://localhost" }, /^ROLE=analysis needs REDIS_URL and DATABASE_URL/],
])("refuses %o with a sentence", (env, message) => {
  expect(() => readConfig(env)).toThrow(ConfigError);
  expect(() => readConfig(env)).toThrow(message);
});

it("repeats no secret", () => {
  for (const env of [
    { DATABASE_URL: "mysql://u:hunter2@h/d" },
    { API_KEY: "hunter2" },
    { REDIS_URL: "http://:hunter2@h" },
  ]) {
    expect(() => readConfig(env)).toThrow(ConfigError);
    expect(() => readConfig(env)).not.toThrow(/hunter2/);
  }
});

it.each([
  ["127.0.0.1", true],
  ["127.1.2.3", true],
  ["localhost", true],
  ["::1", true],
  ["[::1]", true],
  ["0.0.0.0", false],
  ["::", false],
  ["127.evil.example", false],
  ["localhost.example", false],
  ["10.0.0.1", false],
])("%s is loopback: %s", (host, expected) => {
  expect(isLoopback(host)).toBe(expected);
});

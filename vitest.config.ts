import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/helpers/global-setup.ts"],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // Two cores are the reference machine: more forks only make real Redis and Postgres slower.
    maxWorkers: 2,
    sequence: { hooks: "stack" },
  },
});

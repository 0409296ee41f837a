import { describe, expect, it } from "vitest";
import { childEnvironment, injectionSlot, secretValues } from "../../src/capture/process/environment.ts";

const OWN = { set: {}, pass: [], gpus: ["GPU-1", "GPU-2"], tmpDir: "/t", homeDir: "/h" };
const FIXED = { HOME: "/h", TMPDIR: "/t", LC_ALL: "C", CUDA_VISIBLE_DEVICES: "GPU-1,GPU-2" };

describe("the environment of a program", () => {
  it("holds what is known to be needed, and nothing that was not asked for", () => {
    const base = {
      PATH: "/bin",
      USER: "u",
      LD_LIBRARY_PATH: "/l",
      CUDA_HOME: "/c",
      VIRTUAL_ENV: "/v",
      API_KEY: "pk_1",
      HF_TOKEN: "hf_1",
      AWS_SECRET_ACCESS_KEY: "s",
      REDIS_URL: "redis://:p@h",
      RANDOM: "1",
      HOME: "/root",
    };
    expect(childEnvironment({ base, ...OWN })).toEqual({
      PATH: "/bin",
      USER: "u",
      LD_LIBRARY_PATH: "/l",
      CUDA_HOME: "/c",
      VIRTUAL_ENV: "/v",
      ...FIXED,
    });
  });

  it("takes variables by name and what the workload sets", () => {
    const base = { PATH: "/bin", HF_TOKEN: "hf_1", MODEL: "a" };
    expect(
      childEnvironment({ base, ...OWN, pass: ["HF_TOKEN", "MISSING"], set: { MODEL: "b", PATH: "/opt/bin" } }),
    ).toEqual({ PATH: "/opt/bin", HF_TOKEN: "hf_1", MODEL: "b", ...FIXED });
  });

  it("keeps folders, GPUs and language to itself", () => {
    const set = { TMPDIR: "/tmp", LC_ALL: "de_DE", CUDA_VISIBLE_DEVICES: "0", HOME: "/mine" };
    expect(childEnvironment({ base: {}, ...OWN, set })).toEqual({ ...FIXED, HOME: "/mine" });
    expect(childEnvironment({ base: { CUDA_VISIBLE_DEVICES: "3" }, ...OWN, gpus: null })).toEqual({
      HOME: "/h",
      TMPDIR: "/t",
      LC_ALL: "C",
    });
  });

  it("names the values that must not be shown", () => {
    const env = { HF_TOKEN: "hf_1", PATH: "/bin", MODE: "fast", DB_PASSWORD: "p" };
    expect(secretValues(env, ["MODE", "PATH"]).sort()).toEqual(["fast", "hf_1", "p"]);
  });
});

describe("a taken slot for profilers", () => {
  it.each([
    [{ CUDA_INJECTION64_PATH: "/opt/agent/libagent.so" }, "CUDA_INJECTION64_PATH", "libagent.so"],
    [{ NVTX_INJECTION64_PATH: "/x/libnvtx.so" }, "NVTX_INJECTION64_PATH", "libnvtx.so"],
    [{ LD_PRELOAD: "/lib/libjemalloc.so:/opt/nsys/libToolsInjection64.so" }, "LD_PRELOAD", "libToolsInjection64.so"],
    [{ LD_PRELOAD: "/a/libcupti.so.13" }, "LD_PRELOAD", "libcupti.so.13"],
  ])("%j", (env, variable, library) => {
    const failure = injectionSlot(env as Record<string, string>);
    expect(failure).toMatchObject({ code: "injection_slot_taken", evidence: { variable, library } });
    expect(failure?.message).toContain(`${variable} to ${library}`);
    expect(JSON.stringify(failure)).not.toContain("/opt/");
  });

  it.each([{}, { LD_PRELOAD: "/lib/libjemalloc.so.2 /lib/libtcmalloc.so" }, { CUDA_INJECTION64_PATH: "" }])(
    "%j is free",
    (env) => {
      expect(injectionSlot(env as Record<string, string>)).toBeNull();
    },
  );

  it("is seen in the worker's own environment too", () => {
    const env = childEnvironment({ base: { CUDA_INJECTION64_PATH: "/a/lib.so" }, ...OWN });
    expect(injectionSlot(env)).not.toBeNull();
  });
});

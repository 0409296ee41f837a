import { describe, expect, it } from "vitest";
import { completedBetween, hasSeries, readCompleted, readSamples } from "../../src/capture/server/engine-metrics.ts";

const VLLM = `# HELP vllm:request_success_total Count of successfully processed requests.
# TYPE vllm:request_success_total counter
vllm:request_success_total{engine="0",finished_reason="stop",model_name="deepseek-ai/DeepSeek-V3"} 3.0
vllm:request_success_total{engine="0",finished_reason="length",model_name="deepseek-ai/DeepSeek-V3"} 1e+01
vllm:request_success_total{engine="0",finished_reason="abort",model_name="deepseek-ai/DeepSeek-V3"} 5.0
vllm:request_success_total{engine="1",finished_reason="length",model_name="deepseek-ai/DeepSeek-V3"} 4
vllm:request_success_total{engine="1",finished_reason="error",model_name="deepseek-ai/DeepSeek-V3"} 2
vllm:request_success_created{engine="0",finished_reason="stop",model_name="deepseek-ai/DeepSeek-V3"} 1.75e+09
vllm:num_requests_running{engine="0",model_name="deepseek-ai/DeepSeek-V3"} 2.0
`;

describe("the counter of finished requests", () => {
  it("is summed over engines and reasons, without requests that were not served", () => {
    expect(readCompleted(VLLM, ["vllm:request_success_total"])).toEqual({
      value: 17,
      metric: "vllm:request_success_total",
    });
  });

  it("is found with the colon replaced, and without _total", () => {
    expect(readCompleted("sglang_num_requests_total 1e+06\n", ["sglang:num_requests_total"])).toEqual({
      value: 1_000_000,
      metric: "sglang_num_requests_total",
    });
    expect(readCompleted("vllm:request_success 2\n", ["vllm:request_success_total"]).value).toBe(2);
  });

  it("is null where it is absent, and 0 where it is 0", () => {
    expect(readCompleted(VLLM, ["sglang:num_requests_total"])).toEqual({ value: null, metric: null });
    expect(readCompleted("", ["a"])).toEqual({ value: null, metric: null });
    expect(readCompleted("a_total 0.0\n", ["a"])).toEqual({ value: 0, metric: "a_total" });
  });

  it("is the first of several names that is exposed", () => {
    expect(readCompleted("b_total 2\nc_total 3\n", ["a", "c", "b"])).toEqual({ value: 3, metric: "c_total" });
  });

  it("is compared over two scrapes, also over a restart", () => {
    expect(completedBetween(5, 17)).toBe(12);
    expect(completedBetween(null, 12)).toBe(12);
    expect(completedBetween(20, 3)).toBe(3);
    expect(completedBetween(3, null)).toBeNull();
  });
});

describe("a Prometheus text", () => {
  it("is read with labels that hold anything, time stamps and exemplars", () => {
    const text = String.raw`a{path="C:\\x\"}, y=\"",nl="1\n2",} 1.5 1700000000
b 2 # {trace_id="x"} 1.0
c { d = "e" } 3`;
    expect(readSamples(text)).toEqual([
      { name: "a", labels: { path: 'C:\\x"}, y="', nl: "1\n2" }, value: 1.5 },
      { name: "b", labels: {}, value: 2 },
    ]);
  });

  it("passes over what is none", () => {
    expect(readSamples('# TYPE a counter\n\n<html>\na\na{b="c\na{b} 1\na NaN\nb +Inf\n1 2\n')).toEqual([]);
    expect(readSamples("a 1\r\n")).toEqual([{ name: "a", labels: {}, value: 1 }]);
  });

  it("tells whether an engine exposes anything of its own", () => {
    expect(hasSeries(VLLM, "vllm:")).toBe(true);
    expect(hasSeries("vllm_x 1\n", "vllm:")).toBe(true);
    expect(hasSeries("python_gc_objects_collected_total 1\n", "vllm:")).toBe(false);
  });
});

import type { ServerWorkload } from "../../model/workload.ts";

/** What is known about an engine and holds unless a workload says otherwise. */
export interface EngineDefaults {
  /** Counters of finished requests on /metrics; the first that is exposed counts. */
  readonly completedMetrics: readonly string[];
  /** Prefix of the engine's own series on /metrics; null: none is known. */
  readonly metricPrefix: string | null;
  /** Each must have been seen before the engine counts as warm. */
  readonly warmPatterns: readonly string[];
  /** Lines of the same kind that not every configuration prints: recorded where they are seen. */
  readonly notedPatterns: readonly string[];
  /** Asked once after the health path answers: runs a token through the model. */
  readonly generatingHealthPath: string | null;
}

/**
 * Neither engine prints that its warm-up is over, so the lines that come after it stand for it. Forms by version, as read
 * in 2025 and 2026: vllm/v1/worker/gpu_model_runner.py, vllm/v1/engine/core.py and
 * vllm/model_executor/warmup/deep_gemm_warmup.py of vllm-project/vllm; srt/entrypoints/http_server.py,
 * srt/model_executor/cuda_graph_runner.py and srt/layers/deep_gemm_wrapper/compile_utils.py of sgl-project/sglang.
 */
export const ENGINE_DEFAULTS: Readonly<Record<ServerWorkload["engine"], EngineDefaults>> = {
  vllm: {
    // vllm/v1/metrics/loggers.py: created as `vllm:request_success`, scraped with `_total`, one label set for each
    // engine and finished_reason. Absent with --disable-log-stats.
    completedMetrics: ["vllm:request_success_total"],
    metricPrefix: "vllm:",
    warmPatterns: [
      // The engine core's own start: profile run, KV cache, compilation, DeepGEMM JIT, graph capture.
      String.raw`init engine \(profile, create kv cache, warmup model\) took`,
      // The API server starts only after the engine core is initialised.
      String.raw`Application startup complete\.`,
    ],
    notedPatterns: [
      // Not with --enforce-eager. Old releases print no GiB.
      "Graph capturing finished in",
      // Late 2025: "DeepGemm(fp8_gemm_nt) warmup (W=…)"; newer: "DeepGEMM warmup: 47%".
      String.raw`(?i)DeepGemm(\(\w+\))? warmup`,
      String.raw`torch\.compile (takes|took) .* in total`,
    ],
    // /health runs no token in any version.
    generatingHealthPath: null,
  },
  sglang: {
    // srt/metrics/collector.py (newer: srt/observability/metrics_collector.py): rises when a request finishes; the health
    // probe is not counted. Exposed only with --enable-metrics.
    completedMetrics: ["sglang:num_requests_total"],
    metricPrefix: "sglang:",
    // uvicorn's "Application startup complete." comes before the warm-up request here and says nothing.
    warmPatterns: ["The server is fired up and ready to roll!"],
    notedPatterns: [
      // Up to about 0.5.10 "Capture cuda graph end. Time elapsed: …", newer "Capture target decode CUDA graph end. …".
      String.raw`(?i)Capture (\w+ )*cuda graph end`,
      "(?i)DeepGEMM (JIT|warmup)",
    ],
    generatingHealthPath: "/health_generate",
  },
  none: {
    completedMetrics: [],
    metricPrefix: null,
    warmPatterns: [],
    notedPatterns: [],
    generatingHealthPath: null,
  },
};

/** Patterns that must have been seen for this workload: its own, else those of its engine. */
export const warmPatternsOf = ({ warm_up, engine }: ServerWorkload): readonly string[] =>
  warm_up.log_patterns ?? ENGINE_DEFAULTS[engine].warmPatterns;

/** Patterns that are recorded where they are seen. */
export const notedPatternsOf = ({ engine }: ServerWorkload): readonly string[] => ENGINE_DEFAULTS[engine].notedPatterns;

import { z } from "zod";

/** Highest version of workloads.yaml that is read. */
export const WORKLOADS_VERSION = 1;

const seconds = z.number().positive().max(86_400);
const argv = z
  .array(z.string().min(1))
  .min(1)
  .refine(([program]) => !program?.startsWith("-"), "expected a program first, not an option")
  .describe("program and arguments; no shell; `{placeholders}` are filled in");
const pattern = z
  .string()
  .min(1)
  .max(1024)
  .describe("regular expression (RE2 syntax), found anywhere in a line of the log");

const common = {
  name: z.string().regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, "expected 1 to 64 of a-z, 0-9, '.', '_' and '-'"),
  description: z.string().max(1024).optional(),
  model: z.string().min(1).max(256).describe("the model that requests name; spellings are compared after normalising"),
  aliases: z.array(z.string().min(1).max(256)).max(32).default([]).describe("other names of the same model"),
  engine: z.enum(["vllm", "sglang", "none"]),
  gpus: z.number().int().min(1).max(64).default(1).describe("GPUs that it takes, all leased at once"),
  cwd: z.string().optional().describe("working folder; default: the folder of workloads.yaml"),
  env: z.record(z.string(), z.string()).default({}).describe("variables set for the program"),
  pass_env: z.array(z.string()).default([]).describe("variables of the worker that are handed on; all others are not"),
  files: z.array(z.string()).default([]).describe("files whose hashes are registered: what the program is made of"),
  ncu: z
    .strictObject({
      cache_control: z.enum(["all", "none"]).optional(),
      clock_control: z.enum(["base", "none"]).optional(),
      max_launches: z.number().int().min(1).max(1000).optional().describe("launches of one kernel that get counters"),
      survey_launches: z
        .number()
        .int()
        .min(1)
        .max(100_000)
        .optional()
        .describe("launches whose times are looked at first"),
      process: z.string().optional().describe("file name of the executable to profile (--target-processes-filter)"),
    })
    .default({}),
  limits: z
    .strictObject({
      start_s: seconds.default(600).describe("from the start to the first CUDA call under ncu"),
      stall_s: seconds.default(180).describe("without any new output of ncu and without growth of the report"),
      total_s: seconds.default(3600).describe("one run of a tool"),
      output_bytes: z
        .number()
        .int()
        .min(1024)
        .default(64 * 1024 * 1024)
        .describe("what the program may print"),
      report_bytes: z
        .number()
        .int()
        .min(1024)
        .default(8 * 1024 ** 3)
        .describe("what ncu may write"),
    })
    .prefault({}),
};

/** A program that ends by itself. */
export const benchmarkWorkloadSchema = z
  .strictObject({
    ...common,
    kind: z.literal("benchmark"),
    argv,
    window: z
      .enum(["from_start", "cuda_profiler_api"])
      .default("from_start")
      .describe("cuda_profiler_api: the program marks its measured part by cudaProfilerStart and cudaProfilerStop"),
    warm_up: z
      .strictObject({
        log_pattern: pattern.optional().describe("the line that says that it is warm"),
        skip_launches: z
          .number()
          .int()
          .min(0)
          .default(0)
          .describe("first launches of each kernel that are not measured"),
      })
      .prefault({}),
    start_beside_timeline: z
      .boolean()
      .default(false)
      .describe(
        "full pipeline: start the program for the counters while its timeline is recorded, held at its first CUDA call, so that its start costs no time. Only where all its work on the GPU is in one process and two of it may run on the host at a time",
      ),
  })
  .meta({ id: "BenchmarkWorkload" });

const httpCall = z.strictObject({
  method: z.enum(["POST", "GET"]).default("POST"),
  path: z.string().startsWith("/"),
  body: z.unknown().optional(),
});

/** An engine that is started, warmed up, loaded and stopped. */
export const serverWorkloadSchema = z
  .strictObject({
    ...common,
    kind: z.literal("server"),
    argv: argv.describe("starts the engine in the foreground; `{port}` is filled in with the port below"),
    counter_args: z
      .array(z.string())
      .default([])
      .describe("arguments added for the run under ncu: a smaller KV cache, say"),
    port: z.number().int().min(1).max(65535),
    health: z
      .strictObject({ path: z.string().startsWith("/").default("/health"), timeout_s: seconds.default(1800) })
      .prefault({}),
    warm_up: z
      .strictObject({
        requests: z.number().int().min(11).max(10_000).default(12).describe("completed requests: more than 10"),
        completed_metric: z
          .array(z.string())
          .optional()
          .describe("counters of finished requests on /metrics; default by engine; an empty list: it has none"),
        log_patterns: z
          .array(pattern)
          .optional()
          .describe("each must have been seen: JIT and graph capture are over; default by engine"),
        timeout_s: seconds.default(1800),
      })
      .prefault({}),
    load: z
      .strictObject({
        path: z.string().startsWith("/").default("/v1/completions"),
        body: z.record(z.string(), z.unknown()).default({}).describe("fields added to each request"),
        batch: z
          .enum(["prompts", "none"])
          .default("prompts")
          .describe("prompts: one request carries a list of prompts, as many as the requested concurrency"),
        prompt_tokens: z.number().int().min(1).max(1_000_000).default(128),
        output_tokens: z.number().int().min(1).max(100_000).default(8),
        vocabulary: z.number().int().min(2).default(32_000).describe("token ids are drawn below it"),
        seed: z.number().int().min(0).default(1),
        timeout_s: seconds.default(3600).describe("one request; ncu slows a launch 10 to 100 times"),
      })
      .prefault({}),
    window: z
      .strictObject({ open: httpCall, close: httpCall })
      .optional()
      .describe("how to open and close the profiled part where the engine cannot be attached to"),
    warm_engine: z
      .enum(["auto", "never"])
      .default("auto")
      .describe("auto: started once under ncu --mode launch and attached to for each profile"),
    idle_s: seconds.default(600).describe("a warm engine that nobody uses is stopped after this"),
    stop: z
      .strictObject({ signal: z.enum(["SIGTERM", "SIGINT"]).default("SIGTERM"), timeout_s: seconds.default(30) })
      .prefault({}),
  })
  .meta({ id: "ServerWorkload" });

export const workloadSchema = z.discriminatedUnion("kind", [benchmarkWorkloadSchema, serverWorkloadSchema]);

/** workloads.yaml: what the operator of a host allows to run there. */
export const workloadsFileSchema = z
  .strictObject({
    version: z.literal(WORKLOADS_VERSION),
    allow_commands: z
      .boolean()
      .default(false)
      .describe("true: requests may bring a program of their own (source: command)"),
    other_process_on_gpu: z
      .enum(["wait", "fail", "continue"])
      .default("wait")
      .describe("what to do when a process that is not ours uses a leased GPU"),
    dcgm: z
      .strictObject({ pause: argv, resume: argv })
      .optional()
      .describe("commands that free and take back the counters (dcgmi profile --pause, --resume)"),
    workloads: z.array(workloadSchema).max(256).default([]),
  })
  .meta({ id: "WorkloadsFile" });

export type BenchmarkWorkload = z.infer<typeof benchmarkWorkloadSchema>;
export type ServerWorkload = z.infer<typeof serverWorkloadSchema>;
export type Workload = z.infer<typeof workloadSchema>;
export type WorkloadsFile = z.infer<typeof workloadsFileSchema>;

import { FULL_PIPELINE, type ProfileRequest, type ReportSource, type ResolvedRequest } from "../model/profile.ts";
import { type RefusalItem, RefusedError } from "../model/refusal.ts";
import { captureErrors } from "./capture-request.ts";
import type { Targets } from "./ports.ts";

const ENGINES = ["vllm", "sglang", "none"] as const;
const DEFAULT_TOP_N = 10;
/** A kernel is measured on its own, a pipeline under the load that servers are tuned for. */
const DEFAULT_CONCURRENCY = { kernel: 1, pipeline: 128 };

/**
 * Checks what the schema cannot, and fills in the defaults.
 * @throws RefusedError naming each field that is wrong, what was given and what would work.
 */
export function resolveRequest(request: ProfileRequest, targets: Targets): ResolvedRequest {
  if (request.objective === "e2e_throughput") {
    throw new RefusedError(
      "use_benchmark_serving",
      "End-to-end throughput is not something a profiler can tell: counters slow every launch down.",
      {
        hint: "Use the engine's own load generator: `vllm bench serve`, or `python -m sglang.bench_serving`. For what limits the kernels use the objective `bottleneck`.",
        errors: [
          {
            pointer: "/objective",
            code: "use_benchmark_serving",
            detail: "given: e2e_throughput; this service answers `bottleneck` only",
          },
        ],
      },
    );
  }
  const pipeline = targets.isFullPipeline(request.target);
  const errors = [
    ...targetErrors(request, targets),
    ...engineErrors(request),
    ...unsupported(request, pipeline),
    ...(request.source?.kind === "report" ? [] : captureErrors(request, pipeline)),
  ];
  if (errors.length > 0) throw invalid(errors);

  return {
    ...request,
    target: pipeline ? FULL_PIPELINE : request.target,
    model: request.model ?? null,
    engine: ENGINES.find((engine) => engine === request.engine?.toLowerCase()) ?? null,
    concurrency: request.concurrency ?? (pipeline ? DEFAULT_CONCURRENCY.pipeline : DEFAULT_CONCURRENCY.kernel),
    top_n: request.top_n ?? DEFAULT_TOP_N,
    rank: request.rank ?? 0,
    objective: "bottleneck",
    ...(request.window === undefined ? {} : { window: windowOf(request.window) }),
  };
}

type Window = NonNullable<ProfileRequest["window"]>;

/** Equal windows are written in one way: their fingerprints must not differ. */
const windowOf = (window: Window): Window => ("step" in window ? { step: Number(window.step) } : window);

/** An id of the request, in lower case, and where it stands. */
export interface GivenFile {
  readonly id: string;
  readonly pointer: string;
  readonly kind: "report" | "timeline";
}

/**
 * The reports and timelines that a request is about, reports first.
 * @throws RefusedError where there is none, and for one that is given twice.
 */
export function givenFiles({ report_ids = [], timeline_ids = [] }: ReportSource): readonly GivenFile[] {
  const given = (ids: readonly string[], kind: GivenFile["kind"]): GivenFile[] =>
    ids.map((id, position) => ({ id: id.toLowerCase(), pointer: `/source/${kind}_ids/${position}`, kind }));
  const files = [...given(report_ids, "report"), ...given(timeline_ids, "timeline")];
  if (files.length === 0) {
    const detail = "given: nothing; expected ids from POST /reports, here or in timeline_ids";
    throw invalid([{ pointer: "/source/report_ids", code: "validation_failed", detail }]);
  }
  const twice = files.find(({ id }, position) => files.findIndex((file) => file.id === id) < position);
  if (twice !== undefined) {
    throw invalid([
      {
        pointer: twice.pointer,
        code: "validation_failed",
        detail: `given: ${quote(twice.id)} for the second time; its launches would be counted twice`,
      },
    ]);
  }
  return files;
}

export const invalid = (errors: RefusalItem[]): RefusedError =>
  new RefusedError(
    "validation_failed",
    `${errors.length === 1 ? "One field is" : `${errors.length} fields are`} wrong: ${errors.map((error) => error.pointer).join(", ")}.`,
    {
      errors,
    },
  );

export const quote = (text: string): string => JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text);

function targetErrors({ target }: ProfileRequest, targets: Targets): RefusalItem[] {
  const problem = targets.problem(target);
  return problem === null
    ? []
    : [{ pointer: "/target", code: "validation_failed", detail: `given: ${quote(target)}; ${problem}` }];
}

function engineErrors({ engine, model, source }: ProfileRequest): RefusalItem[] {
  const errors: RefusalItem[] = [];
  const known = ENGINES.join(", ");
  if (engine !== undefined && !ENGINES.some((name) => name === engine.toLowerCase())) {
    errors.push({
      pointer: "/engine",
      code: "validation_failed",
      detail: `given: ${quote(engine)}; expected one of ${known}`,
    });
  }
  if (source !== undefined) return errors;
  if (model === undefined)
    errors.push({
      pointer: "/model",
      code: "validation_failed",
      detail: "not given; required unless `source` is given",
    });
  if (engine === undefined) {
    errors.push({
      pointer: "/engine",
      code: "validation_failed",
      detail: `not given; required unless \`source\` is given; one of ${known}`,
    });
  }
  return errors;
}

/** Fields that say how to measure. Reports and timelines were measured already. */
const CAPTURE_FIELDS = ["gpu", "pool", "rank", "ncu", "max_duration_s"] as const;

const hasTimelines = ({ source }: ProfileRequest): boolean =>
  source?.kind === "report" && (source.timeline_ids?.length ?? 0) > 0;

/** What would change the answer and cannot be done yet is refused, not passed over. */
function unsupported(request: ProfileRequest, pipeline: boolean): RefusalItem[] {
  const refuse = (field: string, detail: string): RefusalItem => ({
    pointer: `/${field}`,
    code: "validation_failed",
    detail,
  });
  const errors: RefusalItem[] = [];
  if (request.source?.kind === "report") {
    for (const field of CAPTURE_FIELDS) {
      if (request[field] === undefined) continue;
      errors.push(refuse(field, "says how to measure, and what is uploaded was measured already; leave it out"));
    }
  }
  const isRecorded = pipeline && request.source?.kind !== "report";
  if (request.window !== undefined && !hasTimelines(request) && !isRecorded) {
    errors.push(
      refuse(
        "window",
        "a window is a part of a timeline, and none is given; give one in source.timeline_ids, or leave it out",
      ),
    );
  }
  if (request.webhook !== undefined) {
    errors.push(
      refuse(
        "webhook",
        "webhooks are not delivered by this version; leave it out and wait with GET /profiles/{id}?wait=30",
      ),
    );
  }
  if (request.reuse === "session" || request.reuse === "any") {
    errors.push(refuse("reuse", "earlier results are not reused by this version; leave it out, or give never"));
  }
  return errors;
}

/** How JSON writes U+0000: looking for that is cheaper than walking through each request. */
const ESCAPED_NUL = "\\u0000";

/**
 * The request as the text that is stored.
 * @throws RefusedError where it holds U+0000, which Postgres does not store as text, and which names nothing.
 */
export function requestText(request: ResolvedRequest): string {
  const text = JSON.stringify(request);
  if (!text.includes(ESCAPED_NUL)) return text;
  const errors = textErrors(request, "");
  // The six characters as such, backslash and all, are harmless.
  if (errors.length > 0) throw invalid(errors);
  return text;
}

function textErrors(value: unknown, pointer: string): RefusalItem[] {
  if (typeof value === "string") {
    return value.includes("\0")
      ? [{ pointer, code: "validation_failed", detail: "holds the character U+0000; text without it works" }]
      : [];
  }
  if (value === null || typeof value !== "object") return [];
  return Object.entries(value).flatMap(([key, item]) => [
    ...(key.includes("\0")
      ? [{ pointer, code: "validation_failed", detail: "a name holds the character U+0000" }]
      : []),
    ...textErrors(item, `${pointer}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`),
  ]);
}

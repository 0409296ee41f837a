import type { ProfileRequest } from "../model/profile.ts";
import type { RefusalItem } from "../model/refusal.ts";

const MAX_SECTIONS = 64;
const MAX_METRICS = 256;
/** Names of sets, sections and metrics, a prefix such as `group:` included; nothing that could be an option of ncu. */
const PLAIN_NAME = /^[A-Za-z0-9][A-Za-z0-9_.:]{0,255}$/;

/** What is wrong with a request that is to be captured, beside what any request may have wrong. */
export function captureErrors(request: ProfileRequest, isFullPipeline: boolean): RefusalItem[] {
  const errors: RefusalItem[] = [];
  if (request.rank !== undefined && request.rank !== 0) {
    errors.push(wrong("/rank", `given: ${request.rank}; this version profiles rank 0 only; leave it out`));
  }
  return [...errors, ...(isFullPipeline ? pipelineErrors(request.ncu) : ncuErrors(request.ncu))];
}

/** Verdicts of many kernels rest on the same counters; controls of cache and clocks hold for all of them. */
const pipelineErrors = (ncu: ProfileRequest["ncu"]): RefusalItem[] =>
  (["set", "sections", "metrics"] as const)
    .filter((field) => ncu?.[field] !== undefined)
    .map((field) =>
      wrong(
        `/ncu/${field}`,
        "a full pipeline takes the counters that its verdicts need; leave it out, or give the name of a kernel as the target",
      ),
    );

function ncuErrors(ncu: ProfileRequest["ncu"]): RefusalItem[] {
  const { set, sections = [], metrics = [] } = ncu ?? {};
  return [
    ...(set === undefined ? [] : nameErrors([set], () => "/ncu/set")),
    ...listErrors("sections", sections, MAX_SECTIONS),
    ...listErrors("metrics", metrics, MAX_METRICS),
  ];
}

function listErrors(field: string, names: readonly string[], most: number): RefusalItem[] {
  if (names.length > most) {
    return [wrong(`/ncu/${field}`, `given: ${names.length} names; expected at most ${most}`)];
  }
  return nameErrors(names, (position) => `/ncu/${field}/${position}`);
}

const nameErrors = (names: readonly string[], pointer: (position: number) => string): RefusalItem[] =>
  names.flatMap((name, position) =>
    PLAIN_NAME.test(name)
      ? []
      : [
          wrong(
            pointer(position),
            `given: ${JSON.stringify(name.slice(0, 100))}; expected a name of letters, digits, '_', '.' and ':'`,
          ),
        ],
  );

const wrong = (pointer: string, detail: string): RefusalItem => ({ pointer, code: "validation_failed", detail });

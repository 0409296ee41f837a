import type { CaptureEnd } from "../model/capture.ts";
import type { Finding } from "../model/finding.ts";
import type { PipelinePlan } from "../model/pipeline-plan.ts";
import type { Failure } from "../model/profile.ts";
import type { PipelineResult, ProfileResult } from "../model/result.ts";

/**
 * Says in a result how its reports were captured. Whether the capture ended early is known from `capture` only: a
 * report of a killed run looks whole. Findings of the capture come first, since they are about all numbers.
 */
export function withCapture(result: ProfileResult, capture: CaptureEnd | null): ProfileResult {
  if (capture === null) return result;
  const { record, failure, ended } = capture;
  const endedEarly = failure === null ? [] : [findingOf(failure)];
  return {
    ...(result.kind === "pipeline" ? withPlan(result, record.pipeline) : result),
    partial: result.partial || ended === "partial",
    findings: [...endedEarly, ...capture.findings, ...result.findings],
    provenance: { ...result.provenance, gpus: withUuid(result.provenance.gpus, record.gpus), capture: record },
  };
}

/** What was measured and what not; null with the reason where launches were not chosen by a timeline. */
function withPlan(result: PipelineResult, plan: PipelinePlan | null): PipelineResult {
  const { plan: _, ...others } = result.null_reasons;
  const why = "the capture chose no launches by a timeline";
  return { ...result, plan, null_reasons: plan === null ? { ...others, plan: why } : others };
}

/** Which of several GPUs a launch ran on no report says; one alone needs no telling apart. */
function withUuid(
  gpus: ProfileResult["provenance"]["gpus"],
  leased: CaptureEnd["record"]["gpus"],
): ProfileResult["provenance"]["gpus"] {
  const [only, ...more] = leased;
  return only === undefined || more.length > 0 || gpus.length !== 1
    ? gpus
    : gpus.map((gpu) => ({ ...gpu, uuid: only.uuid }));
}

function findingOf({ code, message, evidence }: Failure): Finding {
  return {
    code,
    severity: "error",
    message: `The capture ended early, so launches may be missing: ${message}`,
    launch: null,
    evidence: Object.fromEntries(Object.entries(evidence).map(([name, value]) => [name, plain(value)])),
  };
}

const plain = (value: unknown): string | number | boolean | null =>
  value === null || typeof value === "string" || typeof value === "number" || typeof value === "boolean"
    ? value
    : (JSON.stringify(value) ?? String(value));

import { expect, it } from "vitest";
import { withCapture } from "../../src/analysis/capture.ts";
import type { CaptureEnd } from "../../src/model/capture.ts";
import { profileResultSchema } from "../../src/model/result.ts";
import { captureRecord, FAILURE, GPU_UUID } from "../helpers/fake-worker.ts";
import { pipelinePlan } from "../helpers/pipeline-plan.ts";
import { kernelEntry, kernelResult, pipelineResult } from "../helpers/result.ts";

const own = { code: "own", severity: "info", message: "of the analysis", launch: 0, evidence: {} } as const;
const captured = {
  code: "captured",
  severity: "warning",
  message: "of the capture",
  launch: null,
  evidence: {},
} as const;

const end = (more: Partial<CaptureEnd> = {}): CaptureEnd => ({
  attempt: 1,
  ended: "completed",
  failure: null,
  findings: [],
  record: captureRecord("w1", 1),
  ...more,
});

it("leaves a result of uploaded reports as it is", () => {
  const result = pipelineResult([kernelEntry()]);
  expect(withCapture(result, null)).toBe(result);
  expect(result.provenance.capture).toBeNull();
});

it("adds the record, and what the capture found before what the analysis found", () => {
  const result = kernelResult(kernelEntry(), { findings: [own] });
  const merged = withCapture(result, end({ findings: [captured] }));
  expect(merged).toMatchObject({ partial: false, findings: [captured, own] });
  expect(merged.provenance).toMatchObject({ capture: captureRecord("w1", 1), gpus: [{ uuid: GPU_UUID }] });
  expect(profileResultSchema.parse(merged)).toEqual(merged);
});

it("says that a run ended early, and why, first of all", () => {
  const merged = withCapture(
    kernelResult(kernelEntry(), { findings: [own] }),
    end({ ended: "partial", failure: FAILURE, findings: [captured] }),
  );
  expect(merged.partial).toBe(true);
  expect(merged.findings.map(({ code, severity }) => [code, severity])).toEqual([
    ["application_crashed", "error"],
    ["captured", "warning"],
    ["own", "info"],
  ]);
  // Evidence of a finding is flat.
  expect(merged.findings[0]?.evidence).toEqual({ signal: "SIGSEGV", log: '["first","last"]' });
  expect(profileResultSchema.parse(merged)).toEqual(merged);
});

it("names no GPU where several were leased: no report says which launch ran where", () => {
  const record = captureRecord("w1", 1);
  const two = [...record.gpus, { uuid: "GPU-2", name: "NVIDIA H200", driver_version: "580.95.05" }];
  const merged = withCapture(kernelResult(kernelEntry()), end({ record: { ...record, gpus: two } }));
  expect(merged.provenance.gpus.map(({ uuid }) => uuid)).toEqual([null]);
});

it("has the plan of the capture, or says why there is none", () => {
  const plan = pipelinePlan({ kernels: 79 });
  const record = { ...captureRecord("w1", 1), pipeline: plan };
  const uploaded = pipelineResult([kernelEntry()], { null_reasons: { plan: "handed in", coverage: "why" } });
  const merged = withCapture(uploaded, end({ record }));
  expect(merged).toMatchObject({ plan, null_reasons: { coverage: "why" } });
  expect(merged).not.toHaveProperty("null_reasons.plan");
  expect(profileResultSchema.parse(merged)).toEqual(merged);
  expect(withCapture(uploaded, end())).toMatchObject({
    plan: null,
    null_reasons: { coverage: "why", plan: "the capture chose no launches by a timeline" },
  });
  // A kernel's result has no plan of its own: the record has it.
  expect(withCapture(kernelResult(kernelEntry()), end({ record }))).not.toHaveProperty("plan");
});

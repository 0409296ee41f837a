import { randomUUID } from "node:crypto";
import { mkdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { redactor } from "../src/base/redact.ts";
import { capture } from "../src/capture/capture.ts";
import { type Capture, DISK_FLOOR_BYTES, nothing, type PipelinePorts } from "../src/capture/capture-parts.ts";
import { withCountersFree } from "../src/capture/host/dcgm.ts";
import { readGpuStates } from "../src/capture/host/nvidia-smi.ts";
import { preflight } from "../src/capture/host/preflight.ts";
import { backupFinding } from "../src/capture/host/preflight-findings.ts";
import { isFullPipeline } from "../src/capture/ncu/kernel-filter.ts";
import { nsysMissing } from "../src/capture/nsys/outcome.ts";
import { childEnvironment, injectionSlot, secretValues } from "../src/capture/process/environment.ts";
import type { EngineKeeper, HeldLease } from "../src/capture/server/warm-engine.ts";
import { workingFolder } from "../src/capture/workloads/declared.ts";
import { placeholdersOf } from "../src/capture/workloads/placeholders.ts";
import type { CaptureYield } from "../src/capture/yield.ts";
import type { Leases } from "../src/leases/leases.ts";
import { type CaptureRecord, captureJobSchema, type Outcome } from "../src/model/capture.ts";
import type { Finding } from "../src/model/finding.ts";
import type { Failure, ResolvedRequest } from "../src/model/profile.ts";
import type { WorkerGpu } from "../src/model/worker.ts";
import { benchmarkWorkloadSchema, type Workload } from "../src/model/workload.ts";
import type { WakeUps } from "../src/queue/wake-ups.ts";
import { ApiRefusedError, type CaptureApi, SupersededError, untilAnswered } from "./capture-api.ts";
import { type Conversation, converse } from "./capture-conversation.ts";
import { gzipped, writeLog } from "./capture-files.ts";
import type { WorkerHost } from "./capture-host.ts";
import { leaseGpus } from "./capture-lease.ts";
import { rankCapture } from "./capture-rank.ts";
import { group, summarize } from "./capture-survey.ts";

export interface CaptureJobPorts {
  readonly host: WorkerHost;
  readonly api: CaptureApi;
  readonly leases: Leases;
  readonly wakeUps: WakeUps;
  readonly engines: EngineKeeper;
  /** Fires when the worker is to stop: what it has begun may be finished, nothing new begins. */
  readonly closing: AbortSignal;
  /** Fires when the worker gives up what it does. */
  readonly giveUp: AbortSignal;
  onBegin(profileId: string | null): void;
  warn(message: string, error: unknown): void;
}

/** What was captured is handed in for so long while the API is away. */
const HAND_IN_LIMIT_MS = 30 * 60_000;
/** After a cancel: its files are worth a try. */
const LAST_WORDS_LIMIT_MS = 10_000;
const OTHER_PROCESS_LIMIT_MS = 10 * 60_000;

/**
 * One job of a capture queue, from taking the profile in hand to its outcome.
 * @throws where the job is to be taken up by another worker: this one stops.
 */
export async function runCaptureJob(ports: CaptureJobPorts, data: unknown): Promise<void> {
  const { profile_id } = captureJobSchema.parse(data);
  if (ports.closing.aborted) throw new Error(`the worker stops; profile ${profile_id} is left to others`);
  const { host, api } = ports;
  const begin = { type: "begin", worker_id: host.workerId } as const;
  const order = await untilAnswered(() => api.event(profile_id, begin), HAND_IN_LIMIT_MS, ports.giveUp).catch(
    (error: unknown) => {
      if (error instanceof SupersededError) return null;
      throw error;
    },
  );
  if (order === null) return;
  const talk = converse(api, host.workerId, profile_id, order);
  const onGiveUp = (): void => talk.halt("worker_stopping");
  ports.giveUp.addEventListener("abort", onGiveUp, { once: true });
  const unlisten = ports.wakeUps.listen(profile_id, () => talk.ask());
  const folder = join(host.folders.attempts, host.owned(`${profile_id}-${order.attempt}`));
  ports.onBegin(profile_id);
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await new CaptureJob(ports, talk, folder).run();
  } finally {
    ports.onBegin(null);
    unlisten();
    ports.giveUp.removeEventListener("abort", onGiveUp);
    talk.close();
    await rm(folder, { recursive: true, force: true }).catch(() => {});
  }
}

class CaptureJob {
  readonly #ports: CaptureJobPorts;
  readonly #talk: Conversation;
  readonly #folder: string;
  #lease: HeldLease | null = null;
  #leasedAt = 0;
  #ownTimeS: number | null = null;
  #secrets: readonly string[] = [];
  #preflight: CaptureRecord["preflight"] = [];
  readonly #findings: Finding[] = [];
  /** Timelines that no longer tell of the host. */
  readonly #cleanTimelines = new Set<string>();

  constructor(ports: CaptureJobPorts, talk: Conversation, folder: string) {
    this.#ports = ports;
    this.#talk = talk;
    this.#folder = folder;
  }

  async run(): Promise<void> {
    const { stop, order } = this.#talk;
    const chosen = this.#workload();
    if (!("workload" in chosen)) return this.#handIn(nothing(chosen, order), null, null);
    const { workload, sha256 } = chosen;
    let result: CaptureYield | null = null;
    try {
      result = await this.#capture(workload, sha256);
    } catch (error) {
      if (!stop.aborted) result = nothing(broken(error), order);
      if (stop.aborted && stop.reason === "lease_lost") result = nothing(leaseLost(this.#lease), order);
      if (!stop.aborted) this.#ports.warn(`profile ${this.#talk.profileId} could not be captured`, error);
    }
    if (stop.aborted && stop.reason === "worker_stopping") {
      throw new Error(`the worker stops; the capture of profile ${this.#talk.profileId} is given back`);
    }
    await this.#handIn(result, workload, sha256);
  }

  /** The declared workload, or the command that the request brings. */
  #workload(): { workload: Workload; sha256: string | null } | Failure {
    const { order } = this.#talk;
    const { file, declared } = this.#ports.host.current();
    const { source } = order.request;
    if (source?.kind === "command") {
      if (!file.allow_commands) return workloadChanged("commands of requests are no longer allowed on this host");
      const workload = benchmarkWorkloadSchema.parse({
        kind: "benchmark",
        name: "command",
        model: order.request.model ?? "none",
        engine: order.request.engine ?? "none",
        argv: source.argv,
        ...(source.cwd === undefined ? {} : { cwd: source.cwd }),
        env: source.env ?? {},
      });
      return { workload, sha256: null };
    }
    const workload = file.workloads.find(({ name }) => name === order.workload);
    const sha256 = declared.find(({ name }) => name === order.workload)?.sha256 ?? null;
    return workload ? { workload, sha256 } : workloadChanged(`workload ${order.workload} is no longer declared`);
  }

  async #capture(workload: Workload, sha256: string | null): Promise<CaptureYield> {
    const { host, engines } = this.#ports;
    const { stop, order } = this.#talk;
    const { request } = order;
    const budgetS = request.max_duration_s;
    // An hour's wait for a GPU would be for nothing.
    if (host.nsys === null && isFullPipeline(request.target)) return nothing(nsysMissing(), order);
    const candidates = host.gpus.filter((gpu) => fits(gpu, request.gpu));
    if (candidates.length < workload.gpus) return nothing(tooFewGpus(workload, candidates.length, request.gpu), order);

    const key = engineKey(workload, sha256, request);
    const allowed = new Set(candidates.map(({ uuid }) => uuid));
    const warm = key === null ? null : await engines.take(key, (uuid) => allowed.has(uuid));
    // An engine of another kind, or one that has to go, gives its GPUs back before they are asked for.
    if (warm === null) await engines.stop("another workload runs");
    const lease = warm?.lease ?? (await this.#leaseGpus(candidates, workload.gpus));
    this.#lease = lease;
    this.#leasedAt = performance.now();
    this.#talk.setLeaseToken(lease.token);
    const onLost = (): void => this.#talk.halt("lease_lost");
    if (lease.lost.aborted) onLost();
    lease.lost.addEventListener("abort", onLost, { once: true });
    const engineFolder = join(host.folders.engines, host.owned(randomUUID()));
    try {
      const env = childEnvironment({
        base: process.env,
        set: workload.env,
        pass: workload.pass_env,
        gpus: lease.gpus,
        tmpDir: host.folders.tmp,
        homeDir: host.folders.home,
      });
      this.#secrets = secretValues(env, workload.pass_env);
      const cwd = workingFolder(workload, host.workloadsFolder);
      const refusal = injectionSlot(env) ?? (await noSuchFolder(cwd));
      if (refusal !== null) return nothing(refusal, order);
      const looked = await preflight({
        gpus: lease.gpus.map((uuid) => ({ uuid })),
        nvidiaSmi: { ...host.nvidiaSmi, signal: stop },
        ownPids: warm === null ? [] : [warm.engine.group.pid],
        workFolder: this.#folder,
        policy: host.current().file.other_process_on_gpu,
        waitLimitMs: OTHER_PROCESS_LIMIT_MS,
        diskFloorBytes: DISK_FLOOR_BYTES,
        signal: stop,
        onWait: (message) =>
          this.#talk.state("waiting_for_gpu", { phase: "preflight", done: null, total: null, message }),
      });
      this.#preflight = looked.record;
      this.#findings.push(...looked.findings);
      if (looked.refusal !== null) return nothing(looked.refusal, order);
      await mkdir(engineFolder, { recursive: true, mode: 0o700 });
      const options: Capture = {
        request,
        workload,
        engineKey: key ?? "",
        lease,
        warm,
        ncu: host.ncu.path,
        canAttach: host.ncu.supports.mode,
        env,
        cwd,
        folder: this.#folder,
        engineFolder,
        recordFolder: host.folders.records,
        secrets: this.#secrets,
        clockControl: looked.clockControl,
        engines,
        summarize: (path) => summarize(path, request.target),
        group,
        pipeline: {
          nsys: host.nsys?.path ?? null,
          ask: await host.pipelineAsk(),
          rank: (path) => this.#rank(path, request),
        },
        stop,
        deadline: budgetS === undefined ? null : this.#leasedAt + budgetS * 1000,
        memoryFindings: async () => {
          const states = await readGpuStates(host.nvidiaSmi);
          const taken = states.ok ? lease.gpus.flatMap((uuid) => states.value.get(uuid) ?? []) : [];
          return taken.flatMap(
            ({ uuid, memory_used_bytes: used, memory_total_bytes: total }) =>
              backupFinding(uuid, used.value, total.value) ?? [],
          );
        },
        tell: (state, progress) => this.#talk.state(state, progress),
        onToolStart: () => {
          this.#ownTimeS ??= (performance.now() - this.#leasedAt) / 1000;
        },
      };
      this.#talk.state("capturing", null);
      const dcgm = host.current().file.dcgm ?? null;
      return await withCountersFree(
        { commands: dcgm, recordFolder: host.folders.records, onProblem: (finding) => this.#findings.push(finding) },
        () => capture(options),
      );
    } finally {
      lease.lost.removeEventListener("abort", onLost);
      // However the capture went: an engine that nobody gave back is not in use any more.
      if (warm !== null && !engines.holds(lease) && !warm.engine.over) await engines.keep(warm);
      // One that took the place of a warm engine lives there.
      const isElsewhere = warm !== null && !warm.engine.over;
      if (isElsewhere || !engines.holds(lease)) await rm(engineFolder, { recursive: true, force: true });
      // The GPU is free while files are handed in.
      if (!engines.holds(lease)) await lease.release();
    }
  }

  async #rank(path: string, { top_n, window }: ResolvedRequest): ReturnType<PipelinePorts["rank"]> {
    const task = {
      path,
      top_n,
      window: window === undefined ? null : "step" in window ? { step: Number(window.step) } : window,
      secrets: [...this.#secrets],
    };
    const ranked = await rankCapture(task, this.#ports.host.ranking, this.#talk.stop);
    if (ranked.ok) this.#cleanTimelines.add(path);
    return ranked;
  }

  /** Waits its turn. A worker that is to stop gives the profile back instead: another one may get GPUs sooner. */
  async #leaseGpus(candidates: readonly WorkerGpu[], count: number): Promise<HeldLease> {
    const { host, leases, closing } = this.#ports;
    const onClosing = (): void => this.#talk.halt("worker_stopping");
    if (closing.aborted) onClosing();
    closing.addEventListener("abort", onClosing, { once: true });
    try {
      return await leaseGpus(leases, {
        candidates,
        count,
        holder: `${host.workerId}: profile ${this.#talk.profileId}`,
        signal: this.#talk.stop,
        onWaiting: ({ blocked_by }) =>
          this.#talk.state("waiting_for_gpu", {
            phase: "lease",
            done: null,
            total: null,
            message: `waits for ${blocked_by.length} lease${blocked_by.length === 1 ? "" : "s"} of its GPUs`,
          }),
      });
    } finally {
      closing.removeEventListener("abort", onClosing);
    }
  }

  async #handIn(result: CaptureYield | null, workload: Workload | null, sha256: string | null): Promise<void> {
    const { api } = this.#ports;
    const { profileId, attempt, stop } = this.#talk;
    const canceled = stop.aborted && stop.reason === "canceled";
    const limitMs = canceled ? LAST_WORDS_LIMIT_MS : HAND_IN_LIMIT_MS;
    const signal = canceled ? AbortSignal.any([this.#ports.giveUp, AbortSignal.timeout(limitMs)]) : this.#ports.giveUp;
    const put = (name: string, path: string): Promise<void> =>
      untilAnswered(() => api.artifact({ profileId, attempt }, name, path, signal), limitMs, signal);
    try {
      const log = await writeLog(this.#folder, null, this.#secrets);
      if (log !== null)
        await put("log", log).catch((error) => this.#ports.warn("the log could not be handed in", error));
      const report = result?.report ?? null;
      if (report !== null) await put("report-0", report);
      const timeline = await this.#handInTimeline(result?.timeline ?? null, put);
      if (result === null || canceled) return;
      const files = { reports: report === null ? [] : ["report-0"], timelines: timeline === null ? [] : [timeline] };
      await untilAnswered(
        () => api.outcome(profileId, this.#outcome(result, workload, sha256, files)),
        limitMs,
        signal,
      );
    } catch (error) {
      if (error instanceof SupersededError || canceled) return;
      if (!(error instanceof ApiRefusedError) || result === null) throw error;
      const failure = uploadFailed(error);
      const none = { reports: [], timelines: [] };
      const outcome = this.#outcome({ ...result, ended: "failed", failure, report: null }, workload, sha256, none);
      await untilAnswered(() => api.outcome(profileId, outcome), limitMs, signal);
    }
  }

  /** Packed: of a million launches some 100 MB, of which gzip leaves a quarter. Its name; null: there is none to hand in. */
  async #handInTimeline(
    path: string | null,
    put: (name: string, path: string) => Promise<void>,
  ): Promise<string | null> {
    if (path === null || !this.#cleanTimelines.has(path)) return null;
    await put("timeline-0", await gzipped(path));
    return "timeline-0";
  }

  #outcome(
    result: CaptureYield,
    workload: Workload | null,
    sha256: string | null,
    files: Pick<Outcome, "reports" | "timelines">,
  ): Outcome {
    const { host } = this.#ports;
    const { order, attempt } = this.#talk;
    const lease = this.#lease;
    const gpus = host.gpus.filter(({ uuid }) => lease?.gpus.includes(uuid));
    const isCommand = order.request.source?.kind === "command";
    // Lines of programs stand in evidence and messages: what the log must not show these must not show either.
    return withoutSecrets(this.#secrets, {
      worker_id: host.workerId,
      attempt,
      lease_token: lease?.token ?? null,
      ended: result.ended,
      failure: result.failure,
      findings: [...this.#findings, ...result.findings].slice(0, 1000),
      ...files,
      record: {
        worker_id: host.workerId,
        attempt,
        workload: order.workload,
        workload_kind: isCommand ? "command" : (workload?.kind ?? "benchmark"),
        workload_sha256: sha256,
        lease: lease && { id: lease.id, token: lease.token, gpus: [...lease.gpus], waited_s: lease.waitedS },
        gpus: gpus.map(({ uuid, name, driver_version }) => ({ uuid, name, driver_version })),
        tools: { ncu: host.ncu.version, nsys: host.nsys?.version ?? null },
        preflight: this.#preflight,
        own_time_s: this.#ownTimeS,
        ...result.parts,
      },
    });
  }
}

function withoutSecrets<T>(secrets: readonly string[], value: T): T {
  const redact = redactor(secrets);
  return JSON.parse(JSON.stringify(value), (_key, item: unknown) => (typeof item === "string" ? redact(item) : item));
}

async function noSuchFolder(cwd: string): Promise<Failure | null> {
  const found = await stat(cwd).catch(() => null);
  if (found?.isDirectory()) return null;
  return {
    code: "program_missing",
    message: `The working folder does not exist: ${cwd}.`,
    hint: "Correct `cwd` of the workload or of the command.",
    retryable: false,
    evidence: { cwd },
  };
}

const leaseLost = (lease: HeldLease | null): Failure => ({
  code: "lease_lost",
  message: "The lease of the GPUs was lost before anything was measured; everything that ran on them was ended.",
  hint: "Somebody ended the lease, or Redis could not be reached in time. Submit the profile again.",
  retryable: true,
  evidence: { lease: lease?.id ?? null, gpus: [...(lease?.gpus ?? [])] },
});

/** What decides whether a warm engine can serve this request: the declaration, and the request's values in its arguments. */
function engineKey(workload: Workload, sha256: string | null, request: ResolvedRequest): string | null {
  if (workload.kind !== "server" || sha256 === null) return null;
  const used = placeholdersOf([...workload.argv, ...workload.counter_args]);
  return JSON.stringify([
    sha256,
    used.has("concurrency") ? request.concurrency : null,
    used.has("rank") ? request.rank : null,
  ]);
}

const fits = (gpu: WorkerGpu, wanted: string | undefined): boolean =>
  wanted === undefined || gpu.uuid === wanted || gpu.name.toLowerCase().includes(wanted.toLowerCase());

const workloadChanged = (why: string): Failure => ({
  code: "workload_changed",
  message: `What was to run is gone: ${why}.`,
  hint: "Look at GET /workloads and submit again, or put the workload back into workloads.yaml.",
  retryable: false,
  evidence: {},
});

const tooFewGpus = (workload: Workload, found: number, gpu: string | undefined): Failure => ({
  code: "preflight_failed",
  message: `Workload ${workload.name} takes ${workload.gpus} GPUs${gpu === undefined ? "" : ` that match ${JSON.stringify(gpu)}`}, and this host has ${found}.`,
  hint: "Submit to a pool whose hosts have as many, or lower `gpus` in workloads.yaml.",
  retryable: false,
  evidence: { wanted: workload.gpus, found },
});

const uploadFailed = (error: ApiRefusedError): Failure => ({
  code: "upload_failed",
  message: `What was captured could not be handed in: ${error.message}`,
  hint: "The message says why the API refused it; MAX_REPORT_BYTES and REPORT_QUOTA_BYTES bound what it takes.",
  retryable: true,
  evidence: { status: error.status },
});

const broken = (error: unknown): Failure => ({
  code: "internal",
  message: `The worker broke down: ${error instanceof Error ? error.message : String(error)}`.slice(0, 1000),
  hint: "This is a fault of the service: report it with the worker's log.",
  retryable: true,
  evidence: {},
});

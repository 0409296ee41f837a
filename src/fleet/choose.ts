import { byText, inOrder } from "../base/order.ts";
import { modelKey } from "../model/model-name.ts";
import type { ResolvedRequest } from "../model/profile.ts";
import { RefusedError } from "../model/refusal.ts";
import type { DeclaredWorkload, Worker } from "../model/worker.ts";

/** Where a request is captured, and what runs there. */
export interface Choice {
  readonly pool: string;
  /** null: the command that the request brings. */
  readonly workload: DeclaredWorkload | null;
}

/** A worker that could run what is asked for. */
interface Offer {
  readonly worker: Worker;
  readonly workload: DeclaredWorkload | null;
}

/** Items that a message lists before it says "and … more". */
const LISTED = 20;
const UPLOAD =
  'Start a worker on a GPU host, or upload a report with POST /reports and give "source": {"kind": "report", "report_ids": [its id]}.';

/**
 * Chooses the pool and the workload of a request that is not about reports. Several fit: the first by name of the pool,
 * then of the workload, so that the same fleet gives the same choice.
 * @throws RefusedError `no_such_workload` naming those that exist; `no_live_worker` saying who is lost, or what the live
 * ones have instead; `validation_failed` where the request contradicts the workload.
 */
export function chooseWorkload(request: ResolvedRequest, workers: readonly Worker[]): Choice {
  const offers = offersOf(request, workers);
  const live = offers.filter(({ worker }) => worker.state === "live");
  if (live.length === 0) throw nobodyOffers(request, workers, offers);
  const inPool = live.filter(({ worker }) => request.pool === undefined || worker.pool === request.pool);
  if (inPool.length === 0) throw notInPool(request, live);
  const fitting = inPool.filter(({ worker, workload }) => gpusFor(request, worker).length >= (workload?.gpus ?? 1));
  const [first] = fitting.sort(byPoolAndName);
  if (!first) throw noSuchGpu(request, inPool);
  checkSet(
    request,
    live.filter(({ worker }) => worker.pool === first.worker.pool),
  );
  checkWorkload(request, first.workload);
  return { pool: first.worker.pool, workload: first.workload };
}

const byPoolAndName = inOrder(
  byText(({ worker }: Offer) => worker.pool),
  byText(({ workload }: Offer) => workload?.name ?? ""),
  byText(({ worker }: Offer) => worker.id),
);

function offersOf(request: ResolvedRequest, workers: readonly Worker[]): Offer[] {
  const { source } = request;
  if (source?.kind === "command") {
    return workers.flatMap((worker) => (worker.allow_commands ? [{ worker, workload: null }] : []));
  }
  const isMeant =
    source?.kind === "workload"
      ? ({ name }: DeclaredWorkload) => name === source.name
      : (workload: DeclaredWorkload) => workload.engine === request.engine && runsModel(workload, request.model ?? "");
  return workers.flatMap((worker) => worker.workloads.filter(isMeant).map((workload) => ({ worker, workload })));
}

const runsModel = ({ model, aliases }: DeclaredWorkload, asked: string): boolean =>
  [model, ...aliases].some((name) => modelKey(name) === modelKey(asked));

/** GPUs of a worker that the request would take: by a part of their name, or by uuid. */
function gpusFor({ gpu }: ResolvedRequest, { gpus }: Worker): Worker["gpus"] {
  if (gpu === undefined) return gpus;
  return gpus.filter(({ name, uuid }) => uuid === gpu || name.toLowerCase().includes(gpu.toLowerCase()));
}

function nobodyOffers(request: ResolvedRequest, workers: readonly Worker[], offers: readonly Offer[]): RefusedError {
  const { pointer, given } = askedFor(request);
  if (offers.length > 0) {
    const gone = listed(offers.map(({ worker }) => stateOf(worker)));
    return refused("no_live_worker", pointer, given, `Every worker that could run it is gone: ${gone}.`, UPLOAD);
  }
  if (!workers.some(({ state }) => state === "live")) {
    const gone =
      workers.length === 0
        ? "No worker with a GPU is connected."
        : `No worker with a GPU is connected: ${listed(workers.map(stateOf))}.`;
    return refused("no_live_worker", pointer, given, gone, UPLOAD);
  }
  if (request.source?.kind === "command") {
    return refused(
      "no_live_worker",
      pointer,
      given,
      "No worker takes commands of requests.",
      "The operator of a host allows them by allow_commands in workloads.yaml. Name a workload instead: GET /workloads lists them.",
    );
  }
  const known = workers.flatMap(({ pool, state, workloads }) =>
    state === "lost" ? [] : workloads.map((workload) => describe(workload, pool)),
  );
  return refused(
    "no_such_workload",
    pointer,
    given,
    `There is no such workload; known workloads: ${known.length === 0 ? "none" : listed(known)}.`,
    "GET /workloads lists them. A new one is an entry in workloads.yaml on its host.",
  );
}

const describe = ({ name, model, engine }: DeclaredWorkload, pool: string): string =>
  `${name} (model ${model}, engine ${engine}, pool ${pool})`;

const stateOf = ({ id, pool, state, last_heartbeat_at }: Worker): string =>
  state === "lost" ? `${id} (pool ${pool}) is lost since ${last_heartbeat_at}` : `${id} (pool ${pool}) is ${state}`;

function notInPool(request: ResolvedRequest, live: readonly Offer[]): RefusedError {
  return refused(
    "no_live_worker",
    "/pool",
    quote(request.pool ?? ""),
    `No live worker of this pool can run it; pools that can: ${listed(live.map(({ worker }) => worker.pool))}.`,
    "Give one of these pools, or leave pool out.",
  );
}

function noSuchGpu(request: ResolvedRequest, offers: readonly Offer[]): RefusedError {
  const have = offers.map(({ worker, workload }) => {
    const names = worker.gpus.map(({ name }) => name).sort();
    return `${worker.id} has ${names.length === 0 ? "no GPU" : listed(names)} and needs ${workload?.gpus ?? 1}`;
  });
  const given = request.gpu === undefined ? "nothing" : quote(request.gpu);
  return refused(
    "no_live_worker",
    "/gpu",
    given,
    `No live worker has enough such GPUs: ${listed(have)}.`,
    "Give a part of a GPU's name or its uuid as GET /workers shows it, or leave gpu out.",
  );
}

function checkSet(request: ResolvedRequest, offers: readonly Offer[]): void {
  const set = request.ncu?.set;
  const sets = [...new Set(offers.flatMap(({ worker }) => worker.tools.ncu_sets))].sort();
  if (set === undefined || sets.length === 0 || sets.includes(set)) return;
  throw refused(
    "validation_failed",
    "/ncu/set",
    quote(set),
    `The ncu of this pool knows no such set; expected one of ${listed(sets)}.`,
    "Give one of these sets, or leave ncu.set out.",
  );
}

/** A workload that is named may come with a model and an engine; then they must be its own. */
function checkWorkload(request: ResolvedRequest, workload: DeclaredWorkload | null): void {
  if (workload === null) return;
  const hint = "Leave it out: the workload says what it runs.";
  if (request.model !== null && !runsModel(workload, request.model)) {
    const message = `The workload ${workload.name} runs ${quote(workload.model)}.`;
    throw refused("validation_failed", "/model", quote(request.model), message, hint);
  }
  if (request.engine !== null && request.engine !== workload.engine) {
    const message = `The workload ${workload.name} runs on the engine ${workload.engine}.`;
    throw refused("validation_failed", "/engine", quote(request.engine), message, hint);
  }
}

function askedFor({ source, model, engine }: ResolvedRequest): { pointer: string; given: string } {
  if (source?.kind === "workload") return { pointer: "/source/name", given: quote(source.name) };
  if (source?.kind === "command") return { pointer: "/source/kind", given: '"command"' };
  return { pointer: "/model", given: `${quote(model ?? "")} with engine ${engine}` };
}

const refused = (
  code: "no_such_workload" | "no_live_worker" | "validation_failed",
  pointer: string,
  given: string,
  message: string,
  hint: string,
): RefusedError =>
  new RefusedError(code, message, { hint, errors: [{ pointer, code, detail: `given: ${given}; ${message}` }] });

/** Each once, in order, and not more than a reader wants. */
function listed(items: readonly string[]): string {
  const each = [...new Set(items)].sort();
  const rest = each.length - LISTED;
  return rest > 0 ? `${each.slice(0, LISTED).join(", ")} and ${rest} more` : each.join(", ");
}

const quote = (text: string): string => JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text);

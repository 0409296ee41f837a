import { type FleetPorts, workersNow } from "./workers.ts";

/** A GPU, and the worker that has registered it. */
export interface RegisteredGpu {
  readonly uuid: string;
  readonly name: string;
  readonly worker: string;
  readonly state: "live" | "stopping" | "lost";
}

/** The GPUs of all workers, by worker and index; twice where two workers of a host have registered one. */
export async function registeredGpus(ports: FleetPorts): Promise<RegisteredGpu[]> {
  const workers = await workersNow(ports);
  return workers.flatMap(({ id, state, gpus }) =>
    gpus.toSorted((a, b) => a.index - b.index).map(({ uuid, name }) => ({ uuid, name, worker: id, state })),
  );
}

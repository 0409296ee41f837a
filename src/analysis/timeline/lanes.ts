import { GPU_ROW_KINDS, type Timeline } from "../../model/timeline.ts";

/** Values of the column `kind`. */
export const KERNEL = GPU_ROW_KINDS.indexOf("kernel");
export const MEMCPY = GPU_ROW_KINDS.indexOf("memcpy");
export const MEMSET = GPU_ROW_KINDS.indexOf("memset");
export const GRAPH = GPU_ROW_KINDS.indexOf("graph");

/** One GPU as one process (or rank) used it: its lanes share the hardware, so their union is its busy time. */
export interface GpuUse {
  readonly process: string | null;
  readonly rank: number | null;
  readonly device: number | null;
}

/** The GPU uses of a timeline in order of their first lane, and for every lane the position of its own. */
export function gpuUsesOf({ lanes }: Pick<Timeline, "lanes">): { uses: GpuUse[]; useOfLane: Uint32Array } {
  const uses: GpuUse[] = [];
  const positions = new Map<string, number>();
  const useOfLane = new Uint32Array(lanes.length);
  for (const [lane, { process, rank, device }] of lanes.entries()) {
    const key = JSON.stringify([process, rank, device]);
    const known = positions.get(key);
    if (known === undefined) positions.set(key, uses.length);
    useOfLane[lane] = known ?? uses.push({ process, rank, device }) - 1;
  }
  return { uses, useOfLane };
}

/** How a GPU use is named in a message: `rank 0, GPU 1`. */
export function useLabel({ process, rank, device }: GpuUse): string {
  const owner = rank !== null ? `rank ${rank}` : process !== null ? `process ${process}` : null;
  const gpu = device === null ? "GPU unknown" : `GPU ${device}`;
  return owner === null ? gpu : `${owner}, ${gpu}`;
}

import { type KnownMetrics, metricsToAsk, queriedMetrics } from "../src/analysis/ask.ts";
import type { PipelinePorts } from "../src/capture/capture-parts.ts";
import { runCommand } from "../src/capture/process/command.ts";

const QUERY_LIMIT_MS = 60_000;
const QUERY_MAX_BYTES = 16 * 1024 ** 2;

/**
 * Counters of patched code: each costs a pass of its own and 0.05 to 0.4 s a launch (measured, H200, ncu 2025.3.1), for
 * parts of the verdict that say where an access is made, not what limits the kernel.
 */
const DEAR = /^sass__/;

/** What a full pipeline asks of this ncu. What ncu itself knows is asked for once; where it does not say, names are taken as declared. */
export async function pipelineAsk(ncu: string): Promise<PipelinePorts["ask"]> {
  return askOf(await knownMetrics(ncu));
}

/** @param known Null: nothing is known. */
export function askOf(known: KnownMetrics | null): PipelinePorts["ask"] {
  const { sections, metrics } = metricsToAsk(known);
  const dear = metrics.filter((name) => DEAR.test(name));
  return {
    sections,
    metrics: metrics.filter((name) => !DEAR.test(name)),
    notes:
      dear.length === 0
        ? []
        : [
            `${dear.length} counters of patched code (sass__…) were left out: each costs a pass of its own. What needs them is null; profile the kernel by its name to have it.`,
          ],
  };
}

async function knownMetrics(ncu: string): Promise<KnownMetrics | null> {
  const options = { timeoutMs: QUERY_LIMIT_MS, maxBytes: QUERY_MAX_BYTES };
  const { code, stdout } = await runCommand([ncu, "--query-metrics"], options);
  if (code !== 0) return null;
  const known = queriedMetrics(stdout);
  return known.names.size > 0 ? known : null;
}

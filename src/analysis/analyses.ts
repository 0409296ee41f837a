import { DEVICE } from "./context.ts";
import { COUNTERS } from "./counters.ts";
import { type Declaration, declaredFamilies, metricTest, missingLister } from "./declaration.ts";
import { FINDINGS } from "./findings.ts";
import { FLOPS } from "./flops.ts";
import { IMBALANCE } from "./imbalance.ts";
import { LIMITER } from "./limiter.ts";
import { MEMORY } from "./memory.ts";
import { OCCUPANCY } from "./occupancy.ts";
import { STALLS } from "./stalls.ts";
import { UTILIZATION } from "./utilization.ts";

/** All analyses of a launch, each with the metrics it needs. A new verdict is a file and a line here. */
export const ANALYSES: readonly Declaration[] = [
  DEVICE,
  UTILIZATION,
  LIMITER,
  FLOPS,
  MEMORY,
  OCCUPANCY,
  STALLS,
  IMBALANCE,
  COUNTERS,
  FINDINGS,
];

export const DECLARED_FAMILIES = declaredFamilies(ANALYSES);

/** True for a metric that any analysis reads. Readers keep these and may leave out the others. */
export const wantsMetric: (name: string) => boolean = metricTest(ANALYSES);

/** What the analyses declare and a launch has no number for. */
export const missingMetrics = missingLister(ANALYSES);

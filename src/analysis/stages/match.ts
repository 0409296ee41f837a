import type { Stage, StageFamily } from "../../model/words.ts";

/** Where a kernel belongs in the pipeline, and why that is said. */
export interface StageMatch {
  readonly stage: Stage;
  readonly family: StageFamily;
  /** Id of the rule that matched, with what the context changed behind `+`; stable between versions. */
  readonly rule: string;
  /** 0..1: how far the name is enough. Below 0.5 it is a hint, and `other` below 0.2 means unknown. */
  readonly confidence: number;
  /** Further stages that the name does not exclude, the likeliest first. */
  readonly alternatives: readonly Stage[];
}

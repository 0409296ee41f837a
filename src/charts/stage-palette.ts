import { FAMILY_OF_STAGE, type StageFamily } from "../model/words.ts";

/** What is not of a family by itself: idle time, the stages that are drawn as one, work outside of a window. */
type Ground = "idle" | "outside";

/**
 * Colours of stage families on a light and on a dark ground, at least 3:1 on it. Hues as far apart as eight allow for the
 * common colour-vision deficiencies; what they mean stands beside them in words.
 */
const SHADES: Readonly<Record<StageFamily | Ground, readonly [light: string, dark: string]>> = {
  moe: ["#c4500a", "#ff9a52"],
  attention: ["#0069a8", "#5cb8f0"],
  gemm: ["#a03c80", "#e79acb"],
  comm: ["#7d6b00", "#e8cf4f"],
  memory: ["#00805f", "#3fcfa5"],
  elementwise: ["#5b4fc4", "#a9a1ff"],
  sampling: ["#b3001b", "#ff8a92"],
  other: ["#5f6670", "#a3abb6"],
  idle: ["#e4e7eb", "#2b3038"],
  outside: ["#c3c8ce", "#4a515b"],
};

/** Order of families in a stack, from the ground up: those of the model first. */
export const FAMILY_ORDER = Object.keys(SHADES);

const isStage = (stage: string): stage is keyof typeof FAMILY_OF_STAGE => Object.hasOwn(FAMILY_OF_STAGE, stage);

/** Family whose colour a stage has; unknown ones and the rest of many are `other`. */
export function familyOf(stage: string): string {
  if (stage === "outside") return stage;
  return isStage(stage) ? FAMILY_OF_STAGE[stage] : "other";
}

/** CSS class of a family, of idle time, of work outside of a window. */
export const familyClass = (family: string): string => `pk-of-${family}`;

const rules = (ground: 0 | 1): string =>
  Object.entries(SHADES)
    .map(([name, shades]) => `.${familyClass(name)}{fill:${shades[ground]}}`)
    .join("")
    .concat(`.pk-of-busy{fill:${["#30363d", "#c9d1d9"][ground]}}.pk-on-fill{fill:${["#ffffff", "#14171c"][ground]}}`);

/** Style sheet of charts by stage, beside that of all charts. */
export const stageStyle = (): string => `<style>${rules(0)}@media (prefers-color-scheme:dark){${rules(1)}}</style>`;

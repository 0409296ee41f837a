import type { RooflineClass } from "../model/result.ts";

/** A colour on a light and on a dark ground. */
interface Shade {
  readonly light: string;
  readonly dark: string;
}

/**
 * Class colours keep apart for the common colour-vision deficiencies (after Okabe and Ito, "Color Universal Design",
 * 2008), darkened or lightened to a contrast of at least 3:1 on their ground. A chart never says a class by colour alone.
 */
const CLASS_SHADES: Readonly<Record<RooflineClass | "none", Shade>> = {
  "compute-bound": { light: "#c4500a", dark: "#ff9a52" },
  "memory-bound": { light: "#0069a8", dark: "#5cb8f0" },
  "latency-bound": { light: "#a03c80", dark: "#e79acb" },
  none: { light: "#5f6670", dark: "#a3abb6" },
};

const INK: Readonly<Record<"ground" | "text" | "quiet" | "grid" | "roof", Shade>> = {
  ground: { light: "#ffffff", dark: "#14171c" },
  text: { light: "#1b1f24", dark: "#e8eaed" },
  quiet: { light: "#57606a", dark: "#a3abb6" },
  grid: { light: "#e4e7eb", dark: "#2b3038" },
  roof: { light: "#30363d", dark: "#c9d1d9" },
};

/** CSS class of everything that belongs to kernels of a roofline class. */
export const classOf = (roofline: RooflineClass | null): string => `pk-${roofline ?? "none"}`;

const rules = (ground: "light" | "dark"): string =>
  [
    `.pk-ground{fill:${INK.ground[ground]}}`,
    `.pk-text{fill:${INK.text[ground]}}`,
    `.pk-quiet{fill:${INK.quiet[ground]}}`,
    `.pk-grid{stroke:${INK.grid[ground]}}`,
    `.pk-roof{stroke:${INK.roof[ground]}}`,
    `.pk-band{fill:${INK.roof[ground]}}`,
    `.pk-halo{fill:${INK.text[ground]};stroke:${INK.ground[ground]}}`,
    ...Object.entries(CLASS_SHADES).map(
      ([name, shade]) => `.pk-${name}{fill:${shade[ground]};stroke:${shade[ground]}}`,
    ),
  ].join("");

/** The style sheet that all charts share; dark where the reader's system is. */
export const chartStyle = (): string =>
  `<style>${rules("light")}@media (prefers-color-scheme:dark){${rules("dark")}}</style>`;

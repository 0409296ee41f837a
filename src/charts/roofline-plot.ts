import type { Box } from "./place-labels.ts";
import type { LogAxis } from "./scale.ts";
import { element } from "./svg.ts";

/** Where the picture is and how data become pixels in it. */
export interface Plot {
  readonly box: Box;
  readonly x: LogAxis;
  readonly y: LogAxis;
}

/** Area of a circle = share of the time: this radius would be a share of 1. */
const FULL_RADIUS = 32;
const SMALLEST_RADIUS = 3.5;

/** Smaller shares have circles of this one. */
export const SMALLEST_SHARE = (SMALLEST_RADIUS / FULL_RADIUS) ** 2;

/** Of the circle of a kernel, pixels. */
export const radius = (share: number | null): number =>
  Math.max(SMALLEST_RADIUS, FULL_RADIUS * Math.sqrt(Math.min(1, share ?? 0)));

export const line = (
  className: string,
  x1: number,
  y1: number,
  x2: number,
  y2: number,
  more: Record<string, string | number> = {},
): string => element("line", { class: className, x1, y1, x2, y2, ...more });

/** Axis-parallel box in pixels. */
export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface Disc {
  readonly x: number;
  readonly y: number;
  readonly r: number;
}

export interface LabelSize {
  readonly width: number;
  readonly height: number;
}

export interface PlacedLabel {
  /** Centre of the label. */
  readonly x: number;
  readonly y: number;
  /** True where the label stands apart from its disc and wants a line to it. */
  readonly leader: boolean;
}

const boxesOverlap = (a: Box, b: Box): boolean =>
  a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;

/** How far a disc reaches into a box, in pixels; 0 where they are apart. */
function discInBox(disc: Disc, box: Box): number {
  const dx = disc.x - Math.min(Math.max(disc.x, box.x), box.x + box.width);
  const dy = disc.y - Math.min(Math.max(disc.y, box.y), box.y + box.height);
  return Math.max(0, disc.r - Math.hypot(dx, dy));
}

/** Directions to try around a disc, the usual order of map makers: right above first, below last. */
const ANGLES = [-45, 45, -135, 135, 0, 180, -90, 90].map((degrees) => (degrees * Math.PI) / 180);

/**
 * A place for the label of each disc: inside it where it fits and nothing else is there, else at the nearest free
 * place around it. Greedy in the given order. Where nothing is free the place with the least overlap is
 * taken. All inside `area`. A disc without a size gets no label.
 */
export function placeLabels(
  discs: readonly Disc[],
  sizes: readonly (LabelSize | null)[],
  area: Box,
): (PlacedLabel | null)[] {
  const taken: Box[] = [];
  return discs.map((disc, index) => {
    const size = sizes[index] ?? null;
    if (size === null) return null;
    let best: { label: PlacedLabel; box: Box; cost: number } | null = null;
    for (const candidate of candidates(disc, size)) {
      const box = { x: candidate.x - size.width / 2, y: candidate.y - size.height / 2, ...size };
      const outside =
        box.x < area.x ||
        box.y < area.y ||
        box.x + box.width > area.x + area.width ||
        box.y + box.height > area.y + area.height;
      if (outside) continue;
      const cost =
        taken.reduce((sum, other) => sum + (boxesOverlap(box, other) ? 100 : 0), 0) +
        discs.reduce((sum, other, at) => sum + (at === index ? 0 : discInBox(other, box)), 0);
      if (best === null || cost < best.cost) best = { label: candidate, box, cost };
      if (cost === 0) break;
    }
    if (best === null) return { x: disc.x, y: disc.y, leader: false };
    taken.push(best.box);
    return best.label;
  });
}

function* candidates(disc: Disc, size: LabelSize): Generator<PlacedLabel> {
  const room = disc.r - Math.hypot(size.width, size.height) / 2;
  if (room >= 0) {
    yield { x: disc.x, y: disc.y, leader: false };
    for (const angle of ANGLES) {
      yield { x: disc.x + Math.cos(angle) * room, y: disc.y + Math.sin(angle) * room, leader: false };
    }
  }
  for (const gap of [2, 10, 18, 28, 40, 56]) {
    for (const angle of ANGLES) {
      const x = disc.x + Math.cos(angle) * (disc.r + gap + size.width / 2);
      const y = disc.y + Math.sin(angle) * (disc.r + gap + size.height / 2);
      yield { x, y, leader: gap > 2 };
    }
  }
}

/**
 * Moves labels of a column apart: same order, at least `distance` between neighbours, as near to where they want to be as
 * that allows, inside `from`..`to` where they fit.
 */
export function spreadVertically(wanted: readonly number[], distance: number, from: number, to: number): number[] {
  const order = wanted.map((y, index) => ({ y, index })).sort((a, b) => a.y - b.y || a.index - b.index);
  const placed: number[] = [];
  for (const { y } of order) placed.push(Math.max(y, from, (placed.at(-1) ?? Number.NEGATIVE_INFINITY) + distance));
  let limit = to;
  for (let i = placed.length - 1; i >= 0; i--) {
    const y = Math.min(placed[i] ?? limit, limit);
    placed[i] = y;
    limit = y - distance;
  }
  const result = [...wanted];
  order.forEach(({ index }, at) => {
    result[index] = placed[at] ?? 0;
  });
  return result;
}

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { NONE } from "../../src/model/timeline.ts";
import { GpuRowsBuilder, HostRowsBuilder } from "../../src/timeline/rows.ts";

const spans = fc.array(fc.record({ start: fc.integer({ min: 0, max: 20 }), length: fc.integer({ min: 0, max: 5 }) }), {
  maxLength: 60,
});

describe("rows", () => {
  it("GPU rows come in order of start, then end, ties as they came, with all of their columns", () => {
    fc.assert(
      fc.property(spans, (given) => {
        const builder = new GpuRowsBuilder();
        for (const [at, { start, length }] of given.entries()) {
          builder.add({ kind: "memset", start_ns: start, end_ns: start + length, name: at, lane: 3, bytes: at * 2 });
        }
        const rows = builder.finish();
        const wanted = given
          .map(({ start, length }, at) => ({ start, end: start + length, at }))
          .sort((a, b) => a.start - b.start || a.end - b.end || a.at - b.at);
        expect([...rows.name]).toEqual(wanted.map(({ at }) => at));
        expect([...rows.start_ns]).toEqual(wanted.map(({ start }) => start));
        expect([...rows.bytes]).toEqual(wanted.map(({ at }) => at * 2));
        expect(rows.shape.every((shape) => shape === NONE)).toBe(true);
        expect(rows.kind.every((kind) => kind === 2)).toBe(true);
        expect(rows.count).toBe(given.length);
      }),
      { seed: 1 },
    );
  });

  it("host rows come in order of start, longer ones first, those without end before all", () => {
    fc.assert(
      fc.property(spans, (given) => {
        const builder = new HostRowsBuilder();
        const ends = given.map(({ start, length }) => (length === 5 ? Number.NaN : start + length));
        for (const [at, { start }] of given.entries()) builder.add(start, ends[at] as number, at, 0);
        const rows = builder.finish();
        const last = (at: number): number => (Number.isNaN(ends[at]) ? 1e9 : (ends[at] as number));
        const wanted = given
          .map(({ start }, at) => ({ start, at }))
          .sort((a, b) => a.start - b.start || last(b.at) - last(a.at) || a.at - b.at);
        expect([...rows.text]).toEqual(wanted.map(({ at }) => at));
      }),
      { seed: 2 },
    );
  });
});

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { textWidth, truncate, visibleText } from "../../src/charts/visible-text.ts";

describe("visibleText", () => {
  it.each([
    ["\u001b[31mred\u001b[0m", "\\u{1b}[31mred\\u{1b}[0m"],
    ["a\u009b2Jb", "a\\u{9b}2Jb"],
    ["line\r\nbreak\u2028", "line\\u{d}\\u{a}break\\u{2028}"],
    ["safe\u202eevil", "safe\\u{202e}evil"],
    ["zero\u200bwidth\ufeff", "zero\\u{200b}width\\u{feff}"],
    ["half \ud800 pair", "half \\u{d800} pair"],
    ["not a character \uffff", "not a character \\u{ffff}"],
    ["kernel<int, ü, 日本>", "kernel<int, ü, 日本>"],
  ])("writes out what cannot be seen: %j", (given, expected) => {
    expect(visibleText(given)).toBe(expected);
  });

  it("leaves nothing that a terminal obeys, whatever comes in", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(visibleText(text)).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}]/u);
      }),
    );
  });
});

describe("truncate", () => {
  it("counts what a terminal shows: wide characters twice, combining marks not at all", () => {
    expect(textWidth("日本")).toBe(4);
    expect(textWidth("e\u0301")).toBe(1);
    expect(textWidth("kernel…")).toBe(7);
  });

  it("cuts to the width and says so", () => {
    expect(truncate("fused_moe_kernel", 16)).toBe("fused_moe_kernel");
    expect(truncate("fused_moe_kernel", 9)).toBe("fused_mo…");
    expect(truncate("日本語", 4)).toBe("日…");
    expect(truncate("kernel", 0)).toBe("");
  });

  it("never exceeds the width", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.integer({ min: 0, max: 20 }), (text, width) => {
        expect(textWidth(truncate(visibleText(text), width))).toBeLessThanOrEqual(width);
      }),
    );
  });
});

import { stripVTControlCharacters } from "node:util";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { pairs, paragraph, table, wrap } from "../../cli/layout.ts";
import { paint, terminalOf } from "../../cli/terminal.ts";
import { textWidth } from "../../src/charts/visible-text.ts";

const PLAIN = { width: 80, colour: false };

describe("terminalOf", () => {
  it.each([
    [{ isTTY: true, columns: 132 }, {}, { width: 132, colour: true }],
    [{ isTTY: true, columns: 132 }, { COLUMNS: "100" }, { width: 100, colour: true }],
    [{ isTTY: true, columns: 20 }, {}, { width: 60, colour: true }],
    [{ isTTY: true, columns: 900 }, {}, { width: 200, colour: true }],
    [{ isTTY: true, columns: 80 }, { NO_COLOR: "1" }, { width: 80, colour: false }],
    [{ isTTY: true, columns: 80 }, { NO_COLOR: "" }, { width: 80, colour: true }],
    [{ isTTY: true, columns: 80 }, { TERM: "dumb" }, { width: 80, colour: false }],
    [{}, {}, { width: 80, colour: false }],
    [{}, { COLUMNS: "wide" }, { width: 80, colour: false }],
  ])("%j %j", (stream, env, expected) => {
    expect(terminalOf(stream, env)).toEqual(expected);
  });
});

describe("paint", () => {
  it("writes colours only where there are any", () => {
    expect(paint({ width: 80, colour: true }, "red", "x")).toBe("\u001b[31mx\u001b[39m");
    expect(paint(PLAIN, "red", "x")).toBe("x");
  });
});

describe("table", () => {
  const columns = [
    { title: "#", align: "right" as const },
    { title: "name", align: "left" as const, flexible: true },
    { title: "n", align: "right" as const },
  ];

  it("aligns by what a terminal shows", () => {
    const rows = [
      [{ text: "1" }, { text: "日本" }, { text: "7" }],
      [{ text: "10" }, { text: "plain" }, { text: "123" }],
    ];
    expect(table(PLAIN, columns, rows)).toEqual([" #  name     n", " 1  日本     7", "10  plain  123"]);
  });

  it("cuts the flexible column to the width of the terminal", () => {
    const lines = table({ width: 60, colour: false }, columns, [
      [{ text: "1" }, { text: "x".repeat(300) }, { text: "1234" }],
    ]);
    expect(lines.map(textWidth)).toEqual([60, 60]);
    expect(lines[1]).toMatch(/x… {2}1234$/);
  });

  it("is as wide with colours as without", () => {
    const rows = [[{ text: "1", style: "red" as const }, { text: "name", style: "bold" as const }, { text: "2" }]];
    const coloured = table({ width: 80, colour: true }, columns, rows);
    expect(coloured.map(stripVTControlCharacters)).toEqual(table(PLAIN, columns, rows));
  });
});

describe("wrap", () => {
  it("keeps every character and stays inside the width", () => {
    fc.assert(
      fc.property(
        fc.array(fc.stringMatching(/^[!-~]{1,40}$/), { minLength: 1 }),
        fc.integer({ min: 4, max: 30 }),
        (words, width) => {
          const lines = wrap(words.join(" "), width);
          expect(lines.every((line) => textWidth(line) <= width)).toBe(true);
          expect(lines.join("").replaceAll(" ", "")).toBe(words.join(""));
        },
      ),
    );
  });

  it("hangs further lines under the first", () => {
    expect(paragraph({ width: 20, colour: false }, "  - ", "one two three four five")).toEqual([
      "  - one two three",
      "    four five",
    ]);
    expect(
      pairs({ width: 24, colour: false }, [
        ["a", "one two three four"],
        ["long", "x"],
      ]),
    ).toEqual(["  a     one two three", "        four", "  long  x"]);
  });
});

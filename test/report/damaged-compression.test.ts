import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { openBuffer } from "../../src/base/file-source.ts";
import type { Report } from "../../src/model/report.ts";
import { detectReport, readReport } from "../../src/report/detect.ts";
import { fixture, fixturePath, H200 } from "../helpers/fixtures.ts";

const packed = readFileSync(fixturePath(`${H200}tiny-full.ncu-rep.gz`));
const junk = Buffer.from("junk");

async function read(bytes: Uint8Array): Promise<Report> {
  const result = await readReport(openBuffer(bytes));
  if (!result.ok) throw new Error(result.error.message);
  return result.value;
}

const codes = (report: Report): string[] => report.findings.map(({ code }) => code);

describe("a report in damaged gzip", () => {
  it("loses no launch to junk behind it, and names it", async () => {
    const found = await read(Buffer.concat([packed, junk]));
    expect(found.launches).toHaveLength(12);
    expect(found).toMatchObject({ partial: false, partial_at_byte: null });
    expect(found.findings).toMatchObject([
      { code: "trailing_data", severity: "warning", message: expect.stringContaining(`from byte ${packed.length} on`) },
    ]);
    expect(found.launches.map(({ names }) => names)).toEqual((await read(packed)).launches.map(({ names }) => names));
  });

  it.each([4, 8])("without its last %d bytes has all launches, and is partial at its end", async (missing) => {
    const found = await read(packed.subarray(0, packed.length - missing));
    expect(found.launches).toHaveLength(12);
    const end = fixture(`${H200}tiny-full.ncu-rep.gz`).length;
    expect(found).toMatchObject({ partial: true, partial_at_byte: end });
    expect(codes(found)).toEqual(["report_truncated"]);
  });

  it("with a wrong checksum has all launches and is damaged at its end: more may have followed", async () => {
    const bytes = Buffer.from(packed);
    bytes.fill(0xee, bytes.length - 8);
    const found = await read(bytes);
    expect(found.launches).toHaveLength(12);
    expect(found.partial).toBe(true);
    expect(codes(found)).toEqual(["report_damaged"]);
  });

  it("cut by junk inside a block keeps the launches before it", async () => {
    const plain = fixture(`${H200}tiny-full.ncu-rep.gz`);
    const found = await read(Buffer.concat([gzipSync(plain.subarray(0, plain.length - 1000)), junk]));
    expect(found.launches.length).toBeGreaterThanOrEqual(10);
    expect(found.partial).toBe(true);
    expect(codes(found)).toContain("report_truncated");
  });
});

describe("a page in damaged gzip", () => {
  const page = fixture(`${H200}tiny-full.raw-base-units.csv.gz`);
  const pages = gzipSync(page);

  it("loses no launch to junk behind it, and names it", async () => {
    const found = await read(Buffer.concat([pages, junk]));
    expect(found.launches).toHaveLength(12);
    expect(found.partial).toBe(false);
    expect(found.findings.filter(({ code }) => code === "trailing_data")).toMatchObject([
      { message: expect.stringContaining(`from byte ${pages.length} on`) },
    ]);
  });

  it("shorter than what detection looks at is recognised and read as partial", async () => {
    const lines = page.toString("utf8").split("\n");
    const text = `${lines.slice(0, 4).join("\n")}\n${lines[4]?.slice(0, 500)}`;
    expect(text.length).toBeLessThan(256 * 1024);
    const whole = gzipSync(text);
    const torn = whole.subarray(0, whole.length - 9);
    expect(await detectReport(openBuffer(torn))).toEqual({
      ok: true,
      value: { format: "ncu-csv-raw", compression: "gzip" },
    });
    const found = await read(torn);
    expect(found).toMatchObject({ partial: true });
    expect(found.launches).toHaveLength(2);
  });

  it("with a wrong checksum keeps its launches and says so", async () => {
    const bytes = Buffer.from(pages);
    bytes.fill(0xee, bytes.length - 8);
    const found = await read(bytes);
    expect(found.launches).toHaveLength(12);
    expect(found.partial).toBe(true);
    expect(codes(found)).toContain("report_damaged");
  });
});

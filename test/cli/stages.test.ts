import { PassThrough, Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { describe, expect, it, vi } from "vitest";
import { stagesCommand } from "../../cli/commands/stages.ts";
import { cli } from "../helpers/cli.ts";

/** Output of the command for chunks of input. */
async function stagesOf(chunks: Iterable<Buffer>): Promise<{ lines: Record<string, unknown>[]; code: number }> {
  const output = new PassThrough();
  const read = text(output);
  const code = await stagesCommand(Readable.from(chunks, { objectMode: false }), output);
  output.end();
  const lines = (await read).split("\n").filter((line) => line !== "");
  return { lines: lines.map((line) => JSON.parse(line) as Record<string, unknown>), code };
}

describe("profile-kernel stages", () => {
  it("prints a line of JSON for each name, in order", async () => {
    const { code, stdout, stderr } = await cli(["stages"], {
      input: Buffer.from("fused_moe_kernel\n\n  \r\nvoid at::native::<unnamed>::f<(int)4>(float*)\r\nxyzzy"),
    });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const lines = stdout.trimEnd().split("\n");
    expect(lines).toHaveLength(3);
    expect(JSON.parse(lines[0]!)).toEqual({
      name: "fused_moe_kernel",
      stage: "moe_expert",
      family: "moe",
      rule: "word.expert-gemm",
      confidence: 0.85,
    });
    expect(Object.keys(JSON.parse(lines[1]!))).toEqual(["name", "stage", "family", "rule", "confidence"]);
    expect(JSON.parse(lines[2]!)).toMatchObject({ name: "xyzzy", stage: "other", confidence: 0.1 });
  });

  it("joins lines and characters that chunks cut", async () => {
    const bytes = Buffer.from("rms_norm_kernel…\nncclDevKernel_SendRecv\nk-ä\n");
    const { lines } = await stagesOf(Array.from(bytes, (byte) => Buffer.of(byte)));
    expect(lines.map(({ name, stage }) => [name, stage])).toEqual([
      ["rms_norm_kernel…", "norm"],
      ["ncclDevKernel_SendRecv", "comm"],
      ["k-ä", "other"],
    ]);
  });

  it("has nothing to say of nothing", async () => {
    expect(await stagesOf([])).toEqual({ lines: [], code: 0 });
    expect(await stagesOf([Buffer.from("\n\r\n \t\n")])).toEqual({ lines: [], code: 0 });
  });

  it("keeps the beginning of an endless line, and says so", async () => {
    const stderr = vi.spyOn(process.stderr, "write").mockReturnValue(true);
    try {
      const { lines } = await stagesOf([
        ...Array.from({ length: 64 }, () => Buffer.alloc(65_536, "x")),
        Buffer.from("\nrms_norm_kernel\n"),
      ]);
      expect(lines.map(({ name }) => String(name).length)).toEqual([65_536, "rms_norm_kernel".length]);
      expect(stderr.mock.calls.flat().join("")).toContain("1 line is longer than 65536 characters");
    } finally {
      stderr.mockRestore();
    }
  });

  it("escapes what a terminal would obey, and keeps the name", async () => {
    const { lines } = await stagesOf([Buffer.from('a\u009b31m"\\b\u0000\n')]);
    expect(lines[0]).toMatchObject({ name: 'a\u009b31m"\\b\u0000', stage: "other" });
  });
});

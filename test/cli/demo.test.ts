import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { rooflineSvg } from "../../src/charts/roofline.ts";
import { analysisInput, resultOf } from "../helpers/analysis.ts";
import { cli, startCli } from "../helpers/cli.ts";
import { fixturePath, H200 } from "../helpers/fixtures.ts";
import { parseXml } from "../helpers/xml.ts";

let folder: string;
let temporary: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "demo-test-"));
  temporary = mkdtempSync(join(tmpdir(), "demo-test-tmp-"));
});
afterEach(() => {
  for (const path of [folder, temporary]) rmSync(path, { recursive: true, force: true });
});

/** What the demo has written up to and including a text. */
async function until(child: ChildProcess, text: RegExp): Promise<string> {
  let output = "";
  // The stream stays open behind the text: the demo goes on writing.
  for await (const chunk of (child.stdout as Readable).iterator({ destroyOnReturn: false })) {
    output += chunk;
    if (text.test(output)) return output;
  }
  throw new Error(`the demo ended before ${text}: ${output}`);
}

describe("demo", () => {
  it("takes a real report through the service, shows each call, and leaves only the chart", async () => {
    const svg = join(folder, "roofline.svg");
    const { code, stdout, stderr } = await cli(["demo", "--svg", svg], { env: { TMPDIR: temporary } });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect([...stdout.matchAll(/^\$ curl .*$/gm)].length).toBe(5);
    expect(stdout).toMatch(/--data-binary @\S+h200-full\.ncu-rep\.gz http:\/\/127\.0\.0\.1:\d+\/reports\n/);
    expect(stdout).toMatch(/-d '\{"target":"full pipeline","source":\{"kind":"report","report_ids":\["[\w-]+"\]\}\}'/);
    expect(stdout).toMatch(/\/profiles\/[\w-]+\?wait=30'\nprofile [\w-]+, succeeded\n/);
    expect(stdout).toContain("The service is stopped and its data removed.");
    expect(readdirSync(temporary)).toEqual([]);
    expect(readdirSync(folder)).toEqual(["roofline.svg"]);

    // The same table as without a service, and the same chart.
    const report = fixturePath(`${H200}h200-full.ncu-rep.gz`);
    const local = (await cli(["analyze", report])).stdout.replace(/^[\s\S]*?(?=\n15 kernels)/, "").trim();
    expect(stdout).toContain(local);
    const picture = readFileSync(svg, "utf8");
    expect(parseXml(picture).name).toBe("svg");
    expect(picture).toBe(rooflineSvg(resultOf([await analysisInput(report)])));
  });

  it.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const)("stops everything that it started on %s", async (signal, expected) => {
    const child = startCli(["demo", "--svg", join(folder, "roofline.svg")], { TMPDIR: temporary });
    const exit = once(child, "exit");
    const output = await until(child, /It listens on \S+,/);
    child.kill(signal);
    child.stdout?.resume();
    expect(await exit).toEqual([expected, null]);
    expect(readdirSync(temporary)).toEqual([]);
    const url = /It listens on (\S+),/.exec(output)?.[1] ?? "";
    await expect(fetch(`${url}/livez`)).rejects.toThrow();
  });

  it("stops while the service is still starting", async () => {
    const child = startCli(["demo", "--svg", join(folder, "roofline.svg")], { TMPDIR: temporary });
    const exit = once(child, "exit");
    await until(child, /Starting the service/);
    child.kill("SIGINT");
    child.stdout?.resume();
    expect(await exit).toEqual([130, null]);
    expect(readdirSync(temporary)).toEqual([]);
  });

  it("cleans up after a failure", async () => {
    const { code, stderr } = await cli(["demo", "--svg", join(folder, "no", "such", "folder.svg")], {
      env: { TMPDIR: temporary },
    });
    expect(code).toBe(2);
    expect(stderr).toMatch(/^profile-kernel: cannot write .*folder\.svg/);
    expect(readdirSync(temporary)).toEqual([]);
  });

  it("says what to do where there is no redis-server", async () => {
    const { code, stderr } = await cli(["demo", "--svg", join(folder, "roofline.svg")], {
      env: { TMPDIR: temporary, PATH: folder },
    });
    expect(code).toBe(6);
    expect(stderr).toMatch(
      /^profile-kernel: the service did not start: redis-server was not found .*apt-get install redis-server/,
    );
    expect(readdirSync(temporary)).toEqual([]);
  });
});

import { readFile, realpath } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import type { ProfileResult } from "../../src/model/result.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { CommandFailure } from "../failure.ts";
import { writeLines, writeNamedFile } from "../output.ts";
import { type ServiceChild, startServiceChild } from "../service-child.ts";
import { paint, terminalOf } from "../terminal.ts";
import { resultView } from "../views/result.ts";

/** A report of 19 launches of LLM and GEMM kernels, recorded with Nsight Compute 2025.3.1 on an H200. */
const REPORT = "test/fixtures/ncu/2025.3.1/h200/h200-full.ncu-rep.gz";

export interface DemoFlags {
  readonly svg: string;
}

/**
 * A recorded report through the whole service, every HTTP call shown as the curl command that does the same: upload,
 * submit, long poll, result, chart. Whatever happens, what was started is stopped, and only the chart stays.
 */
export async function demoCommand(flags: DemoFlags): Promise<ExitCode> {
  const interrupt = new AbortController();
  const codes = { SIGINT: EXIT.interrupted, SIGTERM: EXIT.terminated } as const;
  let ended: ExitCode | null = null;
  const onSignal = (signal: NodeJS.Signals): void => {
    ended ??= signal === "SIGTERM" ? codes.SIGTERM : codes.SIGINT;
    interrupt.abort();
  };
  process.on("SIGINT", onSignal);
  process.on("SIGTERM", onSignal);
  let service: ServiceChild | null = null;
  try {
    const entry = await realpath(process.argv[1] ?? "");
    await say("Starting the service with an embedded Redis and database …");
    service = await startServiceChild(entry, interrupt.signal);
    await say(`It listens on ${service.url}, its data is in ${service.dataDir}.`);
    await walk(service.url, dirname(dirname(entry)), flags.svg, interrupt.signal);
    return EXIT.ok;
  } catch (error) {
    if (ended !== null) return ended;
    throw error;
  } finally {
    if (service !== null) {
      await service.stop();
      await say("The service is stopped and its data removed.");
    }
    process.off("SIGINT", onSignal);
    process.off("SIGTERM", onSignal);
  }
}

const say = (text: string): Promise<void> => writeLines(process.stdout, [text]);

async function walk(url: string, root: string, svg: string, signal: AbortSignal): Promise<void> {
  const terminal = terminalOf(process.stdout, process.env);
  const curl = async (...lines: string[]): Promise<void> =>
    writeLines(process.stdout, [
      "",
      ...lines.map((line, index) => paint(terminal, "bold", index === 0 ? `$ ${line}` : `    ${line}`)),
    ]);
  const call = caller(url, signal);
  const file = join(root, REPORT);

  await curl(
    `curl -sS -H 'Content-Type: application/octet-stream' \\`,
    `--data-binary @${relative(process.cwd(), file)} ${url}/reports`,
  );
  const bytes = new Uint8Array(await readFile(file));
  const report = await call.json<{ id: string; sha256: string; bytes: number }>("/reports", {
    method: "POST",
    headers: { "content-type": "application/octet-stream" },
    body: bytes,
  });
  await say(`report ${report.id}, ${report.bytes} bytes, sha256 ${report.sha256.slice(0, 16)}…`);

  const request = JSON.stringify({ target: "full pipeline", source: { kind: "report", report_ids: [report.id] } });
  await curl(`curl -sS -H 'Content-Type: application/json' \\`, `-d '${request}' ${url}/profiles`);
  let profile = await call.json<Profile>("/profiles", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: request,
  });
  await say(`profile ${profile.id}, ${profile.state}`);

  const path = `/profiles/${encodeURIComponent(profile.id)}`;
  await curl(`curl -sS '${url}${path}?wait=30'`);
  while (!FINAL.has(profile.state)) profile = await call.json<Profile>(`${path}?wait=30`);
  await say(`profile ${profile.id}, ${profile.state}`);
  if (profile.state !== "succeeded") {
    throw new CommandFailure(EXIT.profileFailed, {
      code: profile.failure?.code ?? profile.state,
      message: `the profile ended as ${profile.state}${profile.failure == null ? "" : `: ${profile.failure.message}`}`,
      hint: profile.failure?.hint ?? "",
    });
  }

  await curl(`curl -sS ${url}${path}/result`);
  const result = await call.json<ProfileResult>(`${path}/result`);
  await say("the result as JSON; `profile-kernel analyze` shows the same as a table:\n");
  await writeLines(process.stdout, resultView(terminal, result, { inputs: [REPORT], fullNames: false }));

  await curl(`curl -sS ${url}${path}/roofline.svg -o ${svg}`);
  await writeNamedFile(svg, await call.text(`${path}/roofline.svg`));
  await say(`The roofline chart is in ${svg}.`);
}

interface Profile {
  readonly id: string;
  readonly state: string;
  readonly failure: { readonly code: string; readonly message: string; readonly hint: string } | null;
}

const FINAL: ReadonlySet<string> = new Set(["succeeded", "failed", "canceled"]);

/** Requests to the service; an answer that is no success is a failure with the words of its problem document. */
function caller(url: string, signal: AbortSignal) {
  const request = async (path: string, init: RequestInit = {}): Promise<Response> => {
    const response = await fetch(url + path, { ...init, signal }).catch((error: unknown) => {
      if (signal.aborted) throw error;
      throw new CommandFailure(EXIT.unavailable, {
        code: "service_unreachable",
        message: `no answer from ${url}${path}: ${error instanceof Error ? String(error.cause ?? error.message) : String(error)}`,
        hint: "The service ended; its log says why.",
      });
    });
    if (response.ok) return response;
    const problem = (await response.json().catch(() => ({}))) as {
      code?: string;
      detail?: string;
      title?: string;
      hint?: string;
    };
    throw new CommandFailure(EXIT.unavailable, {
      code: problem.code ?? `http_${response.status}`,
      message: `${init.method ?? "GET"} ${path} was answered with ${response.status}: ${problem.detail ?? problem.title ?? ""}`,
      hint: problem.hint ?? "",
    });
  };
  return {
    json: async <T>(path: string, init?: RequestInit): Promise<T> => (await (await request(path, init)).json()) as T,
    text: async (path: string): Promise<string> => (await request(path)).text(),
  };
}

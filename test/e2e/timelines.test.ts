import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Libsql from "libsql";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type AnalysisInput, analyzeTimelines, type TimelineInput, wantsMetric } from "../../src/analysis/index.ts";
import { openBuffer } from "../../src/base/file-source.ts";
import type { UploadedReport } from "../../src/model/profile.ts";
import { profileResultSchema } from "../../src/model/result.ts";
import { readReport } from "../../src/report/detect.ts";
import { readTimeline } from "../../src/timeline/detect.ts";
import { onBothDatabases } from "../helpers/databases.ts";
import { fixture, fixturePath, H200, samplesDir } from "../helpers/fixtures.ts";
import { startTestService, type TestService, untilFinal, upload } from "../helpers/service.ts";

const SECRET = "hunter2-in-the-environment";
const TINY = "timelines/tiny-collective.nsys.sqlite.gz";
const REPORT = fixture(`${H200}tiny-full.ncu-rep.gz`);
const RECORDINGS = [
  ["timelines/h200-pipeline.nsys.sqlite.gz", "nsys-sqlite"],
  ["timelines/h200-pipeline.torch-trace.json.gz", "torch-trace"],
  ["timelines/tiny-collective.nsys-stats.txt", "nsys-stats"],
  [TINY, "nsys-sqlite"],
] as const;
const samples = samplesDir();

await onBothDatabases((database) => {
  let service: TestService;
  let folder: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "timelines-test-"));
    service = await startTestService(await database.settings());
  });
  afterAll(async () => {
    await service.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const post = (source: object, more: object = {}) =>
    service.call("POST", "/profiles", {
      json: { target: "full pipeline", source: { kind: "report", ...source }, ...more },
    });

  async function ended(timelines: readonly UploadedReport[], reports: readonly UploadedReport[] = [], more = {}) {
    const source = {
      timeline_ids: timelines.map(({ id }) => id),
      ...(reports.length === 0 ? {} : { report_ids: reports.map(({ id }) => id) }),
    };
    const { status, body } = await post(source, more);
    expect(status).toBe(202);
    return untilFinal(service.call, body.id);
  }

  async function timelineInput(path: string, { id, sha256 }: UploadedReport): Promise<TimelineInput> {
    const timeline = await readTimeline(path, folder);
    if (!timeline.ok) throw new Error(timeline.error.message);
    return { timeline: timeline.value, id, sha256 };
  }

  async function reportInput({ id, sha256 }: UploadedReport): Promise<AnalysisInput> {
    const report = await readReport(openBuffer(REPORT), { wantMetric: wantsMetric });
    if (!report.ok) throw new Error(report.error.message);
    return { report: report.value, id, sha256 };
  }

  const resultOf = async (id: string) => (await service.call("GET", `/profiles/${id}/result`)).body;
  const plain = (value: unknown) => JSON.parse(JSON.stringify(profileResultSchema.parse(value)));

  it.each(RECORDINGS)("gives of %s what the analysis gives, with a report and without", async (path, format) => {
    // As it lies there, compressed or not.
    const bytes = readFileSync(fixturePath(path));
    const timeline = await upload(service.call, bytes);
    expect(timeline.format).toBe(format);
    const report = await upload(service.call, REPORT);
    const input = await timelineInput(fixturePath(path), timeline);
    for (const reports of [[], [report]]) {
      const expected = analyzeTimelines([input], await Promise.all(reports.map(reportInput)), {
        target: "full pipeline",
        topN: 7,
      });
      if (!expected.ok) throw new Error(expected.error.message);
      const profile = await ended([timeline], reports, { top_n: 7 });
      expect(profile).toMatchObject({ state: "succeeded", links: { timeline: `/profiles/${profile.id}/timeline` } });
      expect(await resultOf(profile.id)).toEqual(plain(expected.value));
      const trace = await service.call("GET", `/profiles/${profile.id}/trace.json`);
      expect(trace.status).toBe(200);
      expect(trace.body.traceEvents.filter(({ cat }: { cat?: string }) => cat === "kernel").length).toBe(
        expected.value.kind === "pipeline" ? expected.value.launches : 0,
      );
      const raw = await service.call("GET", `/profiles/${profile.id}/timeline`);
      expect(Buffer.from(raw.body).equals(bytes)).toBe(true);
      const reportsThere = await service.call("GET", `/profiles/${profile.id}/report`);
      expect(reportsThere.status).toBe(reports.length === 0 ? 404 : 200);
    }
  });

  it("hands the window on, and names why one cannot be taken", async () => {
    const timeline = await upload(service.call, fixture(TINY));
    const window = { from_us: 60_000, to_us: 80_000 };
    const profile = await ended([timeline], [], { window });
    expect(await resultOf(profile.id)).toMatchObject({ timeline: { window } });
    expect(await ended([timeline], [], { window: { nvtx: "no such range" } })).toMatchObject({
      state: "failed",
      failure: { code: "timeline_window_not_found", evidence: { timeline_id: timeline.id } },
    });
    const without = await post({ report_ids: [(await upload(service.call, REPORT)).id] }, { window });
    expect(without).toMatchObject({ status: 422, body: { errors: [{ pointer: "/window" }] } });
  });

  it("refuses ids that stand in the wrong list, none at all, and the same twice", async () => {
    const timeline = await upload(service.call, fixture(TINY));
    const report = await upload(service.call, REPORT);
    const swapped = await post({ report_ids: [timeline.id], timeline_ids: [report.id] });
    expect(swapped).toMatchObject({
      status: 422,
      body: {
        code: "validation_failed",
        errors: [{ pointer: "/source/report_ids/0" }, { pointer: "/source/timeline_ids/0" }],
      },
    });
    expect(swapped.body.errors[0].detail).toContain("which is a timeline (nsys-sqlite)");
    expect(swapped.body.errors[1].detail).toContain("which is a report (ncu-rep)");
    expect(await post({ report_ids: [], timeline_ids: [] })).toMatchObject({
      status: 422,
      body: { errors: [{ pointer: "/source/report_ids" }] },
    });
    expect(await post({ timeline_ids: [timeline.id, timeline.id] })).toMatchObject({
      status: 422,
      body: { errors: [{ pointer: "/source/timeline_ids/1" }] },
    });
  });

  it("refuses an .nsys-rep with the command that exports it", async () => {
    const head = fixture("timelines/h200-pipeline.nsys-rep.first-40-bytes");
    const { status, body } = await service.call("POST", "/reports", { body: head });
    expect(status).toBe(422);
    expect(JSON.stringify(body)).toContain("nsys export --type sqlite");
  });

  it("fails profiles of hostile databases and goes on", async () => {
    const whole = fixture(TINY);
    const noise = Buffer.alloc(65_536);
    let seed = 1;
    for (let index = 0; index < noise.length; index++) {
      seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
      noise[index] = seed >>> 24;
    }
    const behindMagic = Buffer.concat([whole.subarray(0, 16), noise]);
    const behindHeader = Buffer.concat([whole.subarray(0, 100), noise.subarray(0, whole.length - 100)]);
    for (const bytes of [behindMagic, behindHeader]) {
      const profile = await ended([await upload(service.call, bytes)]);
      expect(profile).toMatchObject({ state: "failed", failure: { code: "timeline_unreadable", retryable: false } });
    }
    const notUtf8 = edited("not-utf8", (db) => db.exec("UPDATE StringIds SET value = CAST(x'ff80fe00c3' AS TEXT)"));
    const odd = await ended([await upload(service.call, notUtf8)]);
    expect(["succeeded", "failed"]).toContain(odd.state);
    expect((await service.call("GET", "/livez")).status).toBe(200);
    expect(await ended([await upload(service.call, fixture(TINY))])).toMatchObject({ state: "succeeded" });
  });

  it("tells nothing of the machine that the file was made on", async () => {
    const bytes = edited("secret", (db) => {
      db.exec("CREATE TABLE IF NOT EXISTS META_DATA_CAPTURE (name TEXT, value TEXT)");
      db.exec(`INSERT INTO META_DATA_CAPTURE (name, value) VALUES ('API_TOKEN', '${SECRET}'),
        ('Process:environment', 'TOKEN=${SECRET}'), ('HOSTNAME', '${SECRET}')`);
    });
    expect(bytes.includes(SECRET)).toBe(true);
    const timeline = await upload(service.call, bytes);
    const profile = await ended([timeline]);
    expect(profile.state).toBe("succeeded");
    const refused = await ended([timeline], [], { window: { nvtx: "none" } });
    for (const path of [
      `/profiles/${profile.id}`,
      `/profiles/${profile.id}/result`,
      `/profiles/${profile.id}/roofline.svg`,
      `/profiles/${profile.id}/stages.svg`,
      `/profiles/${profile.id}/timeline.svg`,
      `/profiles/${profile.id}/trace.json`,
      `/profiles/${refused.id}`,
      `/reports/${timeline.id}`,
    ]) {
      const { body } = await service.call("GET", path);
      expect(JSON.stringify(body)).not.toContain(SECRET);
    }
  });

  it.skipIf(samples === null)("adds up several ranks", async () => {
    const paths = [0, 1].map((rank) => join(samples ?? "", `timelines/torch_rank${rank}_of_128.json.gz`));
    const timelines: UploadedReport[] = [];
    for (const path of paths) timelines.push(await upload(service.call, readFileSync(path)));
    const inputs = await Promise.all(paths.map((path, rank) => timelineInput(path, timelines[rank] as UploadedReport)));
    const expected = analyzeTimelines(inputs, [], { target: "full pipeline" });
    const profile = await ended(timelines);
    if (expected.ok) expect(await resultOf(profile.id)).toEqual(plain(expected.value));
    else expect(profile).toMatchObject({ state: "failed", failure: { code: expected.error.code } });
    const second = await service.call("GET", `/profiles/${profile.id}/timeline?index=1`);
    expect(Buffer.from(second.body).equals(readFileSync(paths[1] ?? ""))).toBe(true);
  });

  /** The small recording, changed by somebody. */
  function edited(name: string, edit: (db: Libsql.Database) => void): Buffer {
    const path = join(folder, `${name}.sqlite`);
    writeFileSync(path, fixture(TINY));
    const db = new Libsql(path);
    edit(db);
    db.close();
    return readFileSync(path);
  }
});

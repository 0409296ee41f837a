import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { onBothDatabases, temporaryFolder } from "../helpers/databases.ts";
import { fixture, H200 } from "../helpers/fixtures.ts";
import { testRedis } from "../helpers/redis.ts";
import { startTestService, type TestService, upload } from "../helpers/service.ts";

/** The same cases in every run. */
const SETTINGS = { seed: 20_261_201, numRuns: 150 };

const anyText = fc.oneof(
  fc.string({ unit: "binary", maxLength: 40 }),
  fc.constantFrom("\0", "\ud800", "/(/", "/a+/i", "full-pipeline", " ", "__proto__"),
);
const anything = fc.oneof(
  anyText,
  fc.integer(),
  fc.double(),
  fc.boolean(),
  fc.constant(null),
  fc.jsonValue({ maxDepth: 2 }),
);

/** A right value more often than not, so that some requests pass and the rest fail at different places. */
const mostly = <T>(right: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 6, arbitrary: right }, { weight: 1, arbitrary: anything });

const requests = (reportId: string) =>
  fc.record(
    {
      target: mostly(anyText),
      model: mostly(anyText),
      engine: mostly(fc.constantFrom("vllm", "SGLang", "none")),
      concurrency: mostly(fc.integer({ min: 1, max: 1000 })),
      source: mostly(
        fc.oneof(
          { weight: 6, arbitrary: fc.constant({ kind: "report", report_ids: [reportId] }) },
          {
            weight: 1,
            arbitrary: fc.record({ kind: fc.constant("report"), report_ids: fc.array(anyText, { maxLength: 3 }) }),
          },
          {
            weight: 1,
            arbitrary: fc.record({
              kind: fc.constantFrom("workload", "command"),
              name: anyText,
              argv: fc.array(anyText),
            }),
          },
        ),
      ),
      top_n: mostly(fc.integer({ min: 1, max: 1000 })),
      session: mostly(anyText),
      revision: mostly(anyText),
      labels: mostly(fc.dictionary(anyText, anyText, { maxKeys: 4 })),
      ncu: mostly(fc.record({ set: anyText, metrics: fc.array(anyText) })),
    },
    { requiredKeys: ["target", "source"] },
  );

await onBothDatabases((database) => {
  const redis = testRedis(temporaryFolder());
  let service: TestService;
  let reportId: string;
  beforeAll(async () => {
    await redis.start();
    service = await startTestService({ ...(await database.settings()), REDIS_URL: redis.url });
    reportId = (await upload(service.call, fixture(`${H200}h200-graph-nodes.ncu-rep.gz`))).id;
    // Requests that happen to be right are taken in; nothing needs to work on them.
    await redis.kill();
  });
  afterAll(() => service.close());

  it("answers every request with a documented answer, and no nonsense with a fault", async () => {
    let taken = 0;
    await fc.assert(
      fc.asyncProperty(requests(reportId), async (request) => {
        const { status, body } = await service.call("POST", "/profiles", { json: request });
        expect([202, 400, 422], JSON.stringify(body)).toContain(status);
        if (status !== 202) return;
        taken += 1;
        const seen = await service.call("GET", `/profiles/${body.id}`);
        expect(seen.body).toEqual(body);
      }),
      SETTINGS,
    );
    expect(taken).toBeGreaterThan(0);
  });

  it("answers every query with a documented answer", async () => {
    const parameters = fc.dictionary(
      fc.oneof(fc.constantFrom("state", "model", "engine", "target", "session", "limit", "cursor", "wait"), anyText),
      anyText,
      { maxKeys: 3 },
    );
    await fc.assert(
      fc.asyncProperty(parameters, async (query) => {
        const { status, body } = await service.call("GET", `/profiles?${new URLSearchParams(query)}`);
        expect([200, 400], JSON.stringify(body)).toContain(status);
      }),
      SETTINGS,
    );
  });
});

import { z } from "zod";
import type { RankedKernel } from "../src/capture/pipeline/selection.ts";
import { failureSchema } from "../src/model/profile.ts";

/** What the process that ranks the timeline of a capture gets. */
export const rankTaskSchema = z.strictObject({
  path: z.string().describe("export of nsys; what tells of the machine is taken out of it"),
  top_n: z.number().int(),
  window: z
    .union([
      z.strictObject({ nvtx: z.string() }),
      z.strictObject({ step: z.number() }),
      z.strictObject({ from_us: z.number(), to_us: z.number() }),
    ])
    .nullable(),
  secrets: z.array(z.string()).describe("values that are taken out of texts"),
});
export type RankTask = z.infer<typeof rankTaskSchema>;

/** A million launches: their names once, and three numbers for each. */
export const rankAnswerSchema = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("ranking"),
    names: z.array(z.string()).describe("linker names"),
    kernels: z.array(
      z.strictObject({
        kernel: z.string(),
        function: z.string().nullable(),
        has_mangled: z.boolean(),
        total_ns: z.number(),
        clusters: z.array(
          z.strictObject({
            grid: z.string(),
            block: z.string(),
            launches: z.array(z.number()).describe("position in names, ordinal, nanoseconds; of each launch in turn"),
          }),
        ),
      }),
    ),
  }),
  z.strictObject({ kind: z.literal("failure"), failure: failureSchema }),
]);
export type RankAnswer = z.infer<typeof rankAnswerSchema>;

export function packed(kernels: readonly RankedKernel[]): RankAnswer {
  const positions = new Map<string, number>();
  const position = (name: string): number => {
    const known = positions.get(name) ?? positions.size;
    positions.set(name, known);
    return known;
  };
  return {
    kind: "ranking",
    kernels: kernels.map(({ clusters, ...kernel }) => ({
      ...kernel,
      clusters: clusters.map(({ grid, block, launches }) => ({
        grid,
        block,
        launches: launches.flatMap(({ mangled, ordinal, duration_ns }) => [position(mangled), ordinal, duration_ns]),
      })),
    })),
    names: [...positions.keys()],
  };
}

export function unpacked({ names, kernels }: Extract<RankAnswer, { readonly kind: "ranking" }>): RankedKernel[] {
  const launchesOf = (numbers: readonly number[]) =>
    Array.from({ length: Math.floor(numbers.length / 3) }, (_, at) => ({
      mangled: names[numbers[3 * at] ?? -1] ?? "",
      ordinal: numbers[3 * at + 1] ?? 0,
      duration_ns: numbers[3 * at + 2] ?? 0,
    }));
  return kernels.map(({ clusters, ...kernel }) => ({
    ...kernel,
    clusters: clusters.map(({ grid, block, launches }) => ({ grid, block, launches: launchesOf(launches) })),
  }));
}

import { expect, it } from "vitest";
import { chooseGpus } from "../../src/leases/asked.ts";
import { leaseRequestSchema } from "../../src/model/lease.ts";
import { RefusedError } from "../../src/model/refusal.ts";

const known = [
  { uuid: "GPU-a", worker: "one", name: "NVIDIA H200", state: "live" },
  { uuid: "GPU-b", worker: "one", name: "NVIDIA H200", state: "live" },
  { uuid: "GPU-b", worker: "again", name: "NVIDIA H200", state: "lost" },
  { uuid: "MIG-c", worker: "two", name: "NVIDIA A100 MIG 1g.10gb", state: "lost" },
];
const choose = (request: object, gpus = known): string[] =>
  chooseGpus(leaseRequestSchema.parse({ holder: "me", ...request }), gpus);

function refusal(request: object, gpus = known): RefusedError {
  try {
    choose(request, gpus);
  } catch (error) {
    if (error instanceof RefusedError) return error;
  }
  throw new Error("was not refused");
}

it("takes GPUs by uuid or by worker, each once, in the order given", () => {
  expect(choose({ gpus: ["GPU-b", "GPU-a", "GPU-b"] })).toEqual(["GPU-b", "GPU-a"]);
  expect(choose({ worker: "one" })).toEqual(["GPU-a", "GPU-b"]);
  expect(choose({ worker: "two" })).toEqual(["MIG-c"]);
});

it("wants one of the two", () => {
  expect(refusal({}).details.errors).toEqual([
    {
      pointer: "/gpus",
      code: "validation_failed",
      detail: "given: nothing; expected uuids here, or the id of a worker in worker",
    },
  ]);
  expect(refusal({ gpus: ["GPU-a"], worker: "one" })).toMatchObject({ code: "validation_failed" });
});

it("names each GPU that is not known, and those that are", () => {
  const error = refusal({ gpus: ["GPU-a", "GPU-x", "GPU-y"] });
  expect(error.code).toBe("no_such_gpu");
  expect(error.details.errors?.map(({ pointer }) => pointer)).toEqual(["/gpus/1", "/gpus/2"]);
  expect(error.details.errors?.[0]?.detail).toContain('given: "GPU-x"; known: GPU-a (NVIDIA H200, worker one)');
  expect(refusal({ gpus: ["GPU-a"] }, []).details.errors?.[0]?.detail).toBe('given: "GPU-a"; known: none');
  expect(refusal({ worker: "three" }).details.errors?.[0]?.detail).toBe(
    'given: "three"; workers with GPUs: one, again, two',
  );
});

it("lists no more than a few", () => {
  const many = Array.from({ length: 200 }, (_, index) => ({
    uuid: `GPU-${index}`,
    worker: `w${index}`,
    name: "NVIDIA H200",
    state: "live",
  }));
  expect(refusal({ worker: "x" }, many).details.errors?.[0]?.detail).toMatch(/w15 and 184 more$/);
});

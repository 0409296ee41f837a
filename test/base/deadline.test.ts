import { expect, it } from "vitest";
import { within } from "../../src/base/deadline.ts";

const never = new Promise<never>(() => {});

it("gives the value of what is in time, and passes its error on", async () => {
  expect(await within(60_000, Promise.resolve(1), "late")).toBe(1);
  await expect(within(60_000, Promise.reject(new Error("broken")), "late")).rejects.toThrow("broken");
});

it("gives up on what takes longer", async () => {
  expect(await within(1, never, "late")).toBe("late");
});

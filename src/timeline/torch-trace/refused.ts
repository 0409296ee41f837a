import type { ReadFailure } from "../../model/report.ts";

const SHORTER = "Record fewer steps, or without with_stack and record_shapes, and give one file a rank.";

export const tooManyBytes = (limit: number): ReadFailure => ({
  code: "too_large",
  message: `Expected at most ${limit} bytes after decompression, found more.`,
  hint: SHORTER,
  evidence: { limit },
});

export const tooManyRows = (limit: number): ReadFailure => ({
  code: "too_large",
  message: `Expected at most ${limit} kernels, copies and sets, found more.`,
  hint: SHORTER,
  evidence: { limit },
});

export const tooManyNames = (limit: number): ReadFailure => ({
  code: "too_large",
  message: `Expected kernel names of at most ${limit} bytes in all, found more.`,
  hint: SHORTER,
  evidence: { limit },
});

/** Threads, streams and launch shapes that a trace may have, each: thousands at most in any recorded one. */
export const MOST_PLACES = 2 ** 18;

export const tooManyPlaces = (what: string, limit: number): ReadFailure => ({
  code: "too_large",
  message: `Expected at most ${limit} ${what}, found more.`,
  hint: SHORTER,
  evidence: { limit },
});

export const emptyFile = (): ReadFailure => ({
  code: "empty",
  message: "Expected a trace of torch's profiler, found no bytes.",
  hint: "Copy the file again; the profiler writes it when the profile is stopped.",
  evidence: {},
});

export const notJson = (found: string): ReadFailure => ({
  code: "unknown_format",
  message: `Expected a trace of torch's profiler, a JSON object or array, found a file that begins with ${found}.`,
  hint: "Give the .json or .json.gz file that torch.profiler's export_chrome_trace or tensorboard_trace_handler wrote.",
  evidence: { offset: 0 },
});

export const noTrace = (message: string): ReadFailure => ({
  code: "wrong_kind",
  message,
  hint: "Give the .json or .json.gz file that torch.profiler's export_chrome_trace or tensorboard_trace_handler wrote.",
  evidence: {},
});

/**
 * The events of a trace are not in order of time (all operators come before the GPU's rows), so what a cut file lacks is
 * an unknown part of every kernel's time: it is refused, not read in part.
 */
export const cutFile = (place: number, events: number, why: string): ReadFailure => ({
  code: "malformed",
  message: `The trace ends too early, at byte ${place} after ${events} complete events (${why}). Its events are not in order of time, so what is missing cannot be told and shares of time would be wrong.`,
  hint: "Copy the file again, or record again and let the profiler finish writing before the process ends.",
  evidence: { offset: place, events },
});

export const brokenJson = (message: string, place: number, events: number): ReadFailure => ({
  code: "malformed",
  message: `${message} at byte ${place}, after ${events} complete events.`,
  hint: "Copy the file again, or record it again; a merged or edited trace has to be one JSON document.",
  evidence: { offset: place, events },
});

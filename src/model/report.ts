import type { OpenBytes } from "../base/bytes.ts";
import type { Result } from "../base/result.ts";
import type { Finding } from "./finding.ts";
import type { Launch, RuleMessage } from "./launch.ts";

export const REPORT_FORMATS = ["ncu-rep", "ncu-csv-raw", "ncu-csv-details"] as const;
export type ReportFormat = (typeof REPORT_FORMATS)[number];

export const COMPRESSIONS = ["none", "gzip", "zstd"] as const;
export type Compression = (typeof COMPRESSIONS)[number];

/** One GPU as the session part of a report names it. Attributes carry NVIDIA's names without `device__attribute_`. */
export interface ReportDevice {
  readonly index: number;
  readonly name: string | null;
}

/** Launches with counters, and what the file says about how they were measured. Host names and command lines stay out. */
export interface Report {
  readonly format: ReportFormat;
  readonly compression: Compression;
  /** Bytes of the report after decompression, as far as it was read. */
  readonly bytes_read: number;
  readonly tool: { readonly name: "ncu"; readonly version: string | null };
  readonly cuda_version: string | null;
  readonly driver_version: string | null;
  readonly devices: readonly ReportDevice[];
  /** Complete launches in file order. */
  readonly launches: readonly Launch[];
  /** True where the file ends inside a block: everything before it was read, nothing was guessed. */
  readonly partial: boolean;
  /** Offset (after decompression) from which on nothing was usable; null unless `partial`. */
  readonly partial_at_byte: number | null;
  readonly findings: readonly Finding[];
}

/** A refusal: the bytes are not a report this reader takes, or too damaged to be one. */
export interface ReadFailure {
  /**
   * `empty`, `unknown_format`, `wrong_kind` (a known kind of file that is not a report), `no_kernels`,
   * `malformed`, `too_large`, `unsupported_version`.
   */
  readonly code:
    | "empty"
    | "unknown_format"
    | "wrong_kind"
    | "no_kernels"
    | "malformed"
    | "too_large"
    | "unsupported_version";
  /** What was expected, what was found, and where. */
  readonly message: string;
  /** What to do. */
  readonly hint: string;
  readonly evidence: Readonly<Record<string, string | number>>;
}

export interface ReadLimits {
  /** Bytes after decompression that a reader may take in (skipped bytes count). */
  readonly maxBytes: number;
  /** Launches. */
  readonly maxLaunches: number;
}

export const DEFAULT_READ_LIMITS: ReadLimits = { maxBytes: 16 * 1024 ** 3, maxLaunches: 200_000 };

export interface ReadOptions {
  readonly limits: ReadLimits;
  /**
   * Which metrics to keep. A report holds over two thousand a launch; who judges needs a few hundred. Absent: all.
   */
  readonly wantMetric?: (name: string) => boolean;
}

/** Reads one format. `open` gives decompressed bytes. */
export type ReadReport = (
  open: OpenBytes,
  compression: Compression,
  options: ReadOptions,
) => Promise<Result<Report, ReadFailure>>;

/** One value of a metric by instance: a PC, an opcode, a time stamp, a table key. */
export interface InstanceValue {
  readonly id: string | number | bigint | null;
  readonly value: number | string | null;
}

/** What stays in the file until somebody asks. Only binary reports hold it. */
export interface LaunchExtras {
  /** Instances of the metric in this launch; empty where it has none. */
  readonly instances: readonly InstanceValue[];
  readonly rules: readonly RuleMessage[];
}

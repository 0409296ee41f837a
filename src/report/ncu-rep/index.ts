import type { OpenBytes } from "../../base/bytes.ts";
import { err, ok, type Result } from "../../base/result.ts";
import type { Launch } from "../../model/launch.ts";
import type { Compression, LaunchExtras, ReadFailure, ReadOptions, ReadReport, Report } from "../../model/report.ts";
import type { EntryKind } from "./block-header.ts";
import { Container, type Entry, FILE_VERSION, Stop } from "./container.ts";
import { readExtrasOf } from "./extras.ts";
import { Findings } from "./findings.ts";
import { MetricCollector } from "./metric-values.ts";
import { NameTable } from "./name-table.ts";
import { GRAPH_FIELDS, KERNEL_FIELDS, type RawResult, READER_METRICS, type ResultFields, readResult } from "./results.ts";
import type { Session } from "./session.ts";

/** Results that can be read, by kind. The other kinds are named in a finding. */
const RESULT_FIELDS: Partial<Record<EntryKind, ResultFields>> = { kernel: KERNEL_FIELDS, graph: GRAPH_FIELDS };

/** Reads a report of Nsight Compute (`.ncu-rep`), file version 7. `open` gives decompressed bytes. */
export const readNcuRep: ReadReport = async (open, compression, options) => {
  const source = await open();
  try {
    const reader = new Reader(options);
    const container = new Container(source, reader.session);
    const version = await container.fileVersion();
    if (version !== FILE_VERSION) return err(versionFailure(version));
    let stop: Stop | null = null;
    try {
      await reader.readAll(container);
    } catch (error) {
      if (!(error instanceof Stop)) throw error;
      stop = error;
    }
    return reader.report(compression, source.position, stop);
  } finally {
    await source.close();
  }
};

function versionFailure(version: number | null): ReadFailure {
  return version === null
    ? {
        code: "malformed",
        message: "the file starts like an Nsight Compute report, but its file header is cut or damaged",
        hint: "copy the report again in binary mode, or record it again",
        evidence: { offset: 4 },
      }
    : {
        code: "unsupported_version",
        message: `the report has file version ${version}; this reader knows version ${FILE_VERSION} (Nsight Compute 2020.3 to 2025.3)`,
        hint: "export the report with the ncu that wrote it: ncu --import FILE --csv --page raw --print-units base",
        evidence: { version, expected: FILE_VERSION },
      };
}

/** What a report adds up to while it is read. */
class Reader {
  readonly session: Session = { versions: new Map(), devices: new Map() };
  readonly #options: ReadOptions;
  readonly #names: NameTable;
  readonly #metrics: MetricCollector;
  readonly #findings = new Findings();
  readonly #texts = new Map<string, string>();
  readonly #launches: Launch[] = [];
  readonly #deviceNames = new Map<number, string>();
  readonly #skippedKinds = new Map<string, number>();
  #driver: number | null = null;
  #nextIndex = 0;

  constructor(options: ReadOptions) {
    this.#options = options;
    const want = options.wantMetric;
    this.#names = new NameTable(want === undefined ? () => true : (name) => READER_METRICS.has(name) || want(name));
    this.#metrics = new MetricCollector(this.#names);
  }

  async readAll(container: Container): Promise<void> {
    for (let block = await container.nextBlock(); block !== null; block = await container.nextBlock()) {
      for (const text of block.header.strings) this.#names.add(text);
      const results: RawResult[] = [];
      for (let entry = await container.nextEntry(); entry !== null; entry = await container.nextEntry()) {
        const result = await this.#readEntry(container, entry, block.header.processId);
        if (result !== null) results.push(result);
      }
      const missing = container.missingEntries();
      if (missing !== 0) this.#noteCount(block.offset, missing);
      for (const result of results) this.#add(result);
    }
  }

  async #readEntry(container: Container, entry: Entry, processId: number | null): Promise<RawResult | null> {
    if (entry.kind === "source") {
      await container.pass(entry);
      return null;
    }
    const index = this.#nextIndex++;
    const fields = entry.kind === null ? undefined : RESULT_FIELDS[entry.kind];
    if (entry.kind === null || fields === undefined) {
      const kind = entry.kind ?? "unknown";
      this.#skippedKinds.set(kind, (this.#skippedKinds.get(kind) ?? 0) + 1);
      await container.pass(entry);
      return null;
    }
    const kind = entry.kind;
    return container.take(entry, (bytes) =>
      readResult(bytes, kind, fields, index, processId, this.#metrics, (text) => this.#keep(text)),
    );
  }

  #keep(text: string): string {
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    this.#texts.set(text, text);
    return text;
  }

  #add({ launch, driver, deviceName, oddities }: RawResult): void {
    this.#launches.push(launch);
    this.#driver ??= driver;
    if (deviceName !== null) this.#deviceNames.set(launch.device ?? 0, deviceName);
    for (const { name, kept, dropped } of oddities.disagreements) {
      this.#findings.add({
        code: "duplicate_metric_disagrees",
        severity: "warning",
        message: `launch ${launch.index} lists ${name} more than once with different values; the last one is used`,
        launch: launch.index,
        evidence: { metric: name, used: kept, dropped },
      });
    }
    if (oddities.namesOutOfRange > 0) {
      this.#findings.add({
        code: "metric_name_out_of_range",
        severity: "error",
        message: `launch ${launch.index} holds ${oddities.namesOutOfRange} metrics whose name is not in the report's table of ${this.#names.size} names; they are left out`,
        launch: launch.index,
        evidence: { metrics: oddities.namesOutOfRange, names: this.#names.size },
      });
    }
  }

  #noteCount(offset: number, missing: number): void {
    this.#findings.add({
      code: "entry_count_mismatch",
      severity: "error",
      message:
        missing > 0
          ? `the block at byte ${offset} announces ${missing} more entries than it holds`
          : `the block at byte ${offset} holds ${-missing} more entries than it announces`,
      launch: null,
      evidence: { offset, missing },
    });
  }

  report(compression: Compression, bytesRead: number, stop: Stop | null): Result<Report, ReadFailure> {
    for (const [kind, count] of this.#skippedKinds) {
      this.#findings.add({
        code: "skipped_result_kind",
        severity: "warning",
        message: `${count} results of kind ${kind} are not read: their layout is not known to this reader`,
        launch: null,
        evidence: { kind, count },
      });
    }
    if (stop !== null) {
      this.#findings.add({
        code: stop.kind === "cut" ? "report_truncated" : "report_damaged",
        severity: stop.kind === "cut" ? "warning" : "error",
        message: `nothing was read from byte ${stop.at} on: found ${stop.message}`,
        launch: null,
        evidence: { offset: stop.at, complete_launches: this.#launches.length },
      });
    }
    if (this.#launches.length === 0) return err(this.#nothing(bytesRead, stop));
    return ok({
      format: "ncu-rep",
      compression,
      bytes_read: bytesRead,
      tool: { name: "ncu", version: this.session.versions.get("Nsight Compute Target")?.split(" ")[0] ?? null },
      cuda_version: this.session.versions.get("CUDA Version") ?? null,
      driver_version: this.#driverVersion(),
      devices: this.#devices(),
      launches: this.#launches,
      partial: stop !== null,
      partial_at_byte: stop?.at ?? null,
      findings: this.#findings.all(),
    });
  }

  #nothing(bytesRead: number, stop: Stop | null): ReadFailure {
    if (stop !== null) {
      return {
        code: "malformed",
        message: `an Nsight Compute report without one complete launch: from byte ${stop.at} on nothing is usable (${stop.message})`,
        hint: "the file was cut or damaged, or the run was ended before its first launch was measured: copy it again or record it again",
        evidence: { offset: stop.at, bytes_read: bytesRead },
      };
    }
    const skipped = [...this.#skippedKinds].map(([kind, count]) => `${count} of kind ${kind}`).join(", ");
    return {
      code: "no_kernels",
      message: `an Nsight Compute report without a launch${skipped === "" ? "" : ` (results that are not read: ${skipped})`}`,
      hint: "record again; ncu prints `No kernels were profiled` where its filters match none",
      evidence: { bytes_read: bytesRead },
    };
  }

  /** The results carry it as a 32-bit float from 2025.3 on, older sessions as text; in between it is not stored. */
  #driverVersion(): string | null {
    if (this.#driver !== null && Number.isFinite(this.#driver)) return String(Number(this.#driver.toFixed(3)));
    return this.session.versions.get("Display Driver Version") ?? null;
  }

  #devices(): Report["devices"] {
    const names = new Map(this.#deviceNames);
    for (const device of this.session.devices.values()) {
      if (device.name !== null && !names.has(device.index)) names.set(device.index, device.name);
    }
    const indices = new Set([...this.session.devices.keys(), ...names.keys()]);
    return [...indices].sort((a, b) => a - b).map((index) => ({ index, name: names.get(index) ?? null }));
  }
}

/** Instances of a metric and all messages of NVIDIA's rules of one launch, read from the report again. */
export const readNcuRepExtras = async (
  open: OpenBytes,
  launchIndex: number,
  metric?: string,
): Promise<Result<LaunchExtras, ReadFailure>> => readExtrasOf(open, RESULT_FIELDS, launchIndex, metric);

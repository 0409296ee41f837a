import { err, ok, type Result } from "../../base/result.ts";
import type { Launch } from "../../model/launch.ts";
import type { Compression, ReadFailure, ReadOptions, ReadReport, Report } from "../../model/report.ts";
import { Container, type Entry, FILE_VERSION, MAGIC, MAX_RESULT, Stop } from "./container.ts";
import { Findings } from "./findings.ts";
import { MetricCollector } from "./metric-values.ts";
import { NameTable } from "./name-table.ts";
import { deviceNameOf, deviceOf, type RawResult, READER_METRICS, readResult } from "./results.ts";
import { CUDA_VERSION, DRIVER_VERSION, emptySession, NCU_VERSION } from "./session.ts";
import { Texts } from "./texts.ts";

/** What all launches of a report may take in memory, so that no file can fill the host. */
const MAX_MODEL_BYTES = 160 * 1024 ** 2;
/** A launch and a hint without their metrics and texts, roughly. */
const LAUNCH_BYTES = 600;
const HINT_BYTES = 400;

/** Session blocks are ten, blocks of device code at most one or two a launch. */
const MAX_BLOCKS_WITHOUT_RESULTS = 10_000;

/** Whether the data start like a report: `NVR` and a zero byte. */
export const isNcuRep = (head: Uint8Array): boolean => MAGIC.every((byte, at) => head[at] === byte);

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
      const exceeded = await reader.readAll(container);
      if (exceeded !== null) return err(exceeded);
      if (container.trailing !== null) reader.noteTrailing(container.trailing);
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
  readonly session = emptySession();
  readonly #options: ReadOptions;
  readonly #names: NameTable;
  readonly #metrics: MetricCollector;
  readonly #findings = new Findings();
  readonly #texts = new Texts();
  readonly #launches: Launch[] = [];
  /** Launches with metrics whose names had not come yet, by position in the list. */
  readonly #incomplete = new Map<number, RawResult>();
  #unknownEntries = 0;
  #driver: number | null = null;
  #nextIndex = 0;
  #hints = 0;
  #blocksWithoutResults = 0;

  constructor(options: ReadOptions) {
    this.#options = options;
    const want = options.wantMetric;
    this.#names = new NameTable(want === undefined ? () => true : (name) => READER_METRICS.has(name) || want(name));
    this.#metrics = new MetricCollector(this.#names, this.#texts);
  }

  /** Reads all blocks; a failure where a limit is exceeded. Throws Stop where the file is cut or damaged. */
  async readAll(container: Container): Promise<ReadFailure | null> {
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
      if (results.length === 0) this.#blocksWithoutResults += 1;
      const exceeded = this.#exceededLimit(container.position);
      if (exceeded !== null) return exceeded;
    }
    return null;
  }

  #exceededLimit(position: number): ReadFailure | null {
    const { maxBytes, maxLaunches } = this.#options.limits;
    const bytes =
      this.#names.bytes +
      this.#texts.bytes +
      this.#metrics.bytes +
      this.#launches.length * LAUNCH_BYTES +
      this.#hints * HINT_BYTES;
    const exceeded = [
      { what: "bytes", found: position, limit: maxBytes },
      { what: "launches", found: this.#launches.length, limit: maxLaunches },
      { what: "bytes of launches in memory", found: bytes, limit: MAX_MODEL_BYTES },
      {
        what: "blocks without a launch",
        found: this.#blocksWithoutResults,
        limit: MAX_BLOCKS_WITHOUT_RESULTS + 4 * this.#launches.length,
      },
    ].find(({ found, limit }) => found > limit);
    if (exceeded === undefined) return null;
    return {
      code: "too_large",
      message: `the report holds more than ${exceeded.limit} ${exceeded.what}: ${exceeded.found} after ${this.#launches.length} launches`,
      hint: "record fewer launches (ncu --launch-count, --kernel-name) or split the recording into several reports",
      evidence: { limit: exceeded.limit, found: exceeded.found, launches: this.#launches.length },
    };
  }

  async #readEntry(container: Container, entry: Entry, processId: number | null): Promise<RawResult | null> {
    if (entry.kind === "source") {
      await container.pass(entry);
      return null;
    }
    const index = this.#nextIndex++;
    if (entry.kind === null) {
      this.#unknownEntries += 1;
      await container.pass(entry);
      return null;
    }
    if (entry.size > MAX_RESULT) {
      this.#noteTooLarge(index, entry);
      await container.pass(entry);
      return null;
    }
    const kind = entry.kind;
    return container.take(entry, (bytes) =>
      readResult(bytes, kind, index, processId ?? this.session.processId, this.#metrics, this.#texts),
    );
  }

  #add(result: RawResult): void {
    const { launch, driver, oddities } = result;
    if (oddities.nameless.length > 0) this.#incomplete.set(this.#launches.length, result);
    this.#launches.push(launch);
    this.#hints += launch.hints.length;
    this.#driver ??= driver;
    for (const { name, kept, dropped } of oddities.disagreements) {
      this.#findings.add({
        code: "duplicate_metric_disagrees",
        severity: "warning",
        message: `launch ${launch.index} lists ${name} more than once with different values; the last one is used`,
        launch: launch.index,
        evidence: { metric: name, used: kept, dropped },
      });
    }
    if (oddities.disagreementCount > oddities.disagreements.length) {
      this.#findings.add({
        code: "duplicate_metric_disagrees",
        severity: "warning",
        message: `launch ${launch.index} lists ${oddities.disagreementCount} metrics more than once with different values; the last one of each is used`,
        launch: launch.index,
        evidence: { metrics: oddities.disagreementCount },
      });
    }
  }

  /** Names are complete only at the end of the file. */
  #addNamesThatCameLater(): void {
    for (const [position, { launch, oddities }] of this.#incomplete) {
      const { metrics, missing } = this.#metrics.complete(launch.metrics, oddities.nameless);
      this.#launches[position] = { ...launch, metrics, device: launch.device ?? deviceOf(metrics) };
      if (missing + oddities.namelessDropped > 0) {
        this.#findings.add({
          code: "metric_name_out_of_range",
          severity: "warning",
          message: `launch ${launch.index} holds ${missing + oddities.namelessDropped} metrics whose names are not among the ${this.#names.size} of the report, as far as it is there; they are left out`,
          launch: launch.index,
          evidence: { metrics: missing + oddities.namelessDropped, names: this.#names.size },
        });
      }
    }
  }

  #noteTooLarge(index: number, { offset, size }: Entry): void {
    this.#findings.add({
      code: "result_too_large",
      severity: "error",
      message: `result ${index} has ${size} bytes, more than the ${MAX_RESULT} that are read; it is left out`,
      launch: null,
      evidence: { result: index, offset, bytes: size, limit: MAX_RESULT },
    });
  }

  noteTrailing(what: string): void {
    this.#findings.add({
      code: "trailing_data",
      severity: "warning",
      message: `${what}; what is there is left out, the report before it is whole`,
      launch: null,
      evidence: {},
    });
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
    this.#addNamesThatCameLater();
    if (this.#unknownEntries > 0) {
      this.#findings.add({
        code: "skipped_result_kind",
        severity: "warning",
        message: `${this.#unknownEntries} entries are of a kind that this reader does not know; they are left out`,
        launch: null,
        evidence: { count: this.#unknownEntries },
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
      tool: { name: "ncu", version: this.session.versions.get(NCU_VERSION)?.split(" ")[0] ?? null },
      cuda_version: this.session.versions.get(CUDA_VERSION) ?? null,
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
    const skipped =
      this.#unknownEntries > 0 ? ` (${this.#unknownEntries} entries of an unknown kind are left out)` : "";
    return {
      code: "no_kernels",
      message: `an Nsight Compute report without a launch${skipped}`,
      hint: "record again; ncu prints `No kernels were profiled` where its filters match none",
      evidence: { bytes_read: bytesRead },
    };
  }

  /** The results carry it as a 32-bit float from 2025.3 on, older sessions as text; in between it is not stored. */
  #driverVersion(): string | null {
    if (this.#driver !== null && Number.isFinite(this.#driver)) return String(Number(this.#driver.toFixed(3)));
    return this.session.versions.get(DRIVER_VERSION) ?? null;
  }

  #devices(): Report["devices"] {
    const names = new Map<number, string | null>();
    for (const { index, name } of this.session.devices.values()) names.set(index, name);
    for (const { device, metrics } of this.#launches) {
      const name = deviceNameOf(metrics);
      if (device !== null && name !== null) names.set(device, name);
    }
    return [...names].map(([index, name]) => ({ index, name })).sort((a, b) => a.index - b.index);
  }
}

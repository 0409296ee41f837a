/** Writes reports of made-up content, for tests of what no recording can hold: damage, bombs, kinds without a sample. */

export function varint(value: number | bigint): Buffer {
  const bytes: number[] = [];
  if (typeof value === "number" && value < 2 ** 31) {
    let rest = value;
    for (; rest > 0x7f; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
    bytes.push(rest);
    return Buffer.from(bytes);
  }
  let rest = BigInt(value);
  for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  bytes.push(Number(rest));
  return Buffer.from(bytes);
}

export const uintField = (field: number, value: number | bigint): Buffer =>
  Buffer.concat([varint(field * 8), varint(value)]);

export function bytesField(field: number, content: Uint8Array | string): Buffer {
  const bytes = typeof content === "string" ? Buffer.from(content) : content;
  return Buffer.concat([varint(field * 8 + 2), varint(bytes.length), bytes]);
}

export function doubleField(field: number, value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return Buffer.concat([varint(field * 8 + 1), bytes]);
}

export function floatField(field: number, value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(value);
  return Buffer.concat([varint(field * 8 + 5), bytes]);
}

export const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
};

export const FILE_HEADER = Buffer.concat([Buffer.from("NVR\0"), uint32(2), uintField(1, 7)]);

export interface BlockParts {
  /** Counter fields of the header by number, e.g. {2: 1} for one kernel result. */
  readonly counters?: Readonly<Record<number, number | bigint>>;
  readonly strings?: readonly string[];
  readonly entries?: readonly Uint8Array[];
  readonly processId?: number;
  /** Further fields of the header. */
  readonly extra?: Uint8Array;
  /** Instead of the real size. */
  readonly payloadSize?: number | bigint;
}

export function block({
  counters = {},
  strings = [],
  entries = [],
  processId,
  extra,
  payloadSize,
}: BlockParts): Buffer {
  const payload = Buffer.concat(entries.flatMap((entry) => [uint32(entry.length), entry]));
  const header = Buffer.concat([
    ...Object.entries(counters).map(([field, count]) => uintField(Number(field), count)),
    bytesField(4, Buffer.concat(strings.map((text) => bytesField(1, text)))),
    uintField(5, payloadSize ?? payload.length),
    ...(processId === undefined ? [] : [bytesField(6, uintField(1, processId))]),
    extra ?? Buffer.alloc(0),
  ]);
  return Buffer.concat([uint32(header.length), header, payload]);
}

/** One ProfileMetricResult with a double. */
export const metric = (nameId: number, value: number): Buffer =>
  Buffer.concat([uintField(1, nameId), bytesField(2, doubleField(3, value))]);

const dim3 = (sizes: readonly number[]): Buffer => Buffer.concat(sizes.map((size, at) => uintField(at + 1, size)));

/** A ProfileResult; `fields` come behind the usual ones. */
export const kernel = (name: string, metrics: readonly Uint8Array[] = [], fields: readonly Uint8Array[] = []): Buffer =>
  Buffer.concat([
    uintField(1, 100),
    uintField(2, 5),
    bytesField(5, name),
    bytesField(6, name),
    bytesField(7, ""),
    bytesField(10, dim3([4, 1, 1])),
    bytesField(11, dim3([32, 1, 1])),
    ...metrics.map((message) => bytesField(13, message)),
    uintField(14, 1_796_000_000),
    uintField(22, 1),
    uintField(23, 7),
    ...fields,
  ]);

export const report = (...blocks: readonly Uint8Array[]): Buffer => Buffer.concat([FILE_HEADER, ...blocks]);

// Recorded reports of Nsight Compute as their blocks, so that the stand-in can write some of their launches, one by one.
// The container: docs/formats/ncu-rep.md. In the reports that are used each launch has a block of its own.
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";

/** Fields of BlockHeader: results in the payload, size of the payload, strings. Of ProfileResult: mangled, function and demangled name. */
const RESULTS = 2;
const STRINGS = 4;
const PAYLOAD_SIZE = 5;
const MANGLED = 5;
const FUNCTION = 6;
const DEMANGLED = 7;

/** @returns {{ head: Buffer, blocks: { bytes: Buffer, launch: null | { mangled: string, name: string, demangled: string }, without: Buffer | null }[] }} */
export function readReport(path) {
  const raw = readFileSync(path);
  const file = path.endsWith(".gz") ? gunzipSync(raw) : raw;
  let at = 8 + file.readUInt32LE(4);
  const head = file.subarray(0, at);
  const blocks = [];
  while (at < file.length) {
    const size = file.readUInt32LE(at);
    const header = file.subarray(at + 4, at + 4 + size);
    const fields = readFields(header);
    const payload = at + 4 + size;
    const end = payload + (numberOf(fields, PAYLOAD_SIZE) ?? 0);
    const launch = numberOf(fields, RESULTS) === 1 ? nameOf(file.subarray(payload + 4, end)) : null;
    const strings = fields.find(({ field }) => field === STRINGS);
    // A launch that is left out may hold the names of metrics for all that follow.
    const without = launch !== null && strings !== undefined && strings.bytes.length > 0 ? headerAlone(fields) : null;
    blocks.push({ bytes: file.subarray(at, end), launch, without });
    at = end;
  }
  return { head, blocks };
}

function nameOf(result) {
  const fields = readFields(result);
  const text = (field) => fields.find((entry) => entry.field === field)?.bytes.toString("utf8") ?? "";
  return { mangled: text(MANGLED), name: text(FUNCTION), demangled: text(DEMANGLED) };
}

/** The header with no result and no payload. */
function headerAlone(fields) {
  const parts = fields.filter(({ field }) => field !== RESULTS && field !== PAYLOAD_SIZE).map(({ raw }) => raw);
  const header = Buffer.concat(parts);
  const size = Buffer.alloc(4);
  size.writeUInt32LE(header.length);
  return Buffer.concat([size, header]);
}

const numberOf = (fields, field) => fields.find((entry) => entry.field === field)?.number;

/** Protocol buffers, wire format: tags, variable-length numbers, lengths, fixed numbers. */
function readFields(bytes) {
  const fields = [];
  let at = 0;
  const number = () => {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = bytes[at++];
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  };
  while (at < bytes.length) {
    const start = at;
    const tag = number();
    const entry = { field: Math.floor(tag / 8), number: undefined, bytes: Buffer.alloc(0), raw: Buffer.alloc(0) };
    const kind = tag % 8;
    if (kind === 0) entry.number = number();
    else if (kind === 1) at += 8;
    else if (kind === 5) at += 4;
    else if (kind === 2) {
      const length = number();
      entry.bytes = bytes.subarray(at, at + length);
      at += length;
    } else throw new Error(`wire type ${kind} at ${start}`);
    entry.raw = bytes.subarray(start, at);
    fields.push(entry);
  }
  return fields;
}

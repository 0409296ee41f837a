/**
 * The protobuf wire format (https://protobuf.dev/programming-guides/encoding/), as far as reports use it: varint,
 * 64-bit, length-delimited, 32-bit. Groups do not occur and count as damage.
 *
 * Why not the library: the reader of @bufbuild/protobuf 2.17 knows the end of the buffer but not of the nested message,
 * so a damaged length is noticed late or never; it bounds neither texts nor the number of nested messages; and it takes
 * twice the time for the walk over a report (37 ms against 18 ms for the 30 MB of h200-full, median of 15).
 */

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;

/** The bytes are no protobuf message of the expected shape. `at` is the offset in the message that was given. */
export class WireError extends Error {
  readonly at: number;

  constructor(what: string, at: number) {
    super(what);
    this.name = "WireError";
    this.at = at;
  }
}

/** The longest known text, a kernel's name, has some KB. */
const MAX_TEXT = 1024 ** 2;
/** Nested messages of a launch that become objects; known launches have some hundred. */
const MAX_MESSAGES = 200_000;

const utf8 = new TextDecoder("utf-8");

/**
 * A cursor over one message and the messages nested in it. `end` is the end of the innermost message entered: nothing
 * is read past it. Every method throws {@link WireError} where the bytes do not allow what it is asked for; the readers
 * of values also where the field has another wire type.
 */
export class Wire {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  pos = 0;
  end: number;
  /** Number and wire type of the field whose tag was read last. */
  field = 0;
  #type = 0;
  #messagesLeft: number;

  /** `maxMessages` bounds what tiny nested messages can be blown up to in memory. */
  constructor(bytes: Uint8Array, maxMessages: number = MAX_MESSAGES) {
    this.#bytes = bytes;
    this.#messagesLeft = maxMessages;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.end = bytes.length;
  }

  /** Reads the next tag and returns the field's number, 0 at the end of the message. */
  next(): number {
    if (this.pos >= this.end) return 0;
    const tag = this.#varint();
    this.field = Math.floor(tag / 8);
    this.#type = tag % 8;
    if (this.field === 0 || this.field >= 2 ** 29) throw new WireError(`field number ${this.field}`, this.pos);
    return this.field;
  }

  /** Calls `read` for each field of the message at hand; it must read or skip the field's value. */
  fields(read: (field: number) => void): void {
    for (let field = this.next(); field !== 0; field = this.next()) read(field);
  }

  /** The same for the nested message that the field at hand holds. */
  message(read: (field: number) => void): void {
    this.#messagesLeft -= 1;
    if (this.#messagesLeft < 0) throw new WireError("more nested messages than any known report has", this.pos);
    const outer = this.enter();
    this.fields(read);
    this.leave(outer);
  }

  /** Enters a nested message and returns what `leave` needs. */
  enter(): number {
    const length = this.#length();
    const outer = this.end;
    this.end = this.pos + length;
    return outer;
  }

  /** Leaves a nested message, whether it was read to its end or not. */
  leave(outer: number): void {
    this.pos = this.end;
    this.end = outer;
  }

  /** An unsigned varint of up to 64 bits as a double: exact up to 2^53, rounded above. */
  uint(): number {
    this.#expect(VARINT);
    return this.#varint();
  }

  /** An unsigned varint of up to 64 bits, all digits. */
  bigint(): bigint {
    this.#expect(VARINT);
    const start = this.pos;
    this.#varint();
    let value = 0n;
    for (let at = this.pos - 1; at >= start; at -= 1) value = (value << 7n) | BigInt((this.#bytes[at] ?? 0) & 0x7f);
    return BigInt.asUintN(64, value);
  }

  double(): number {
    this.#expect(FIXED64);
    const at = this.#advance(8);
    return this.#view.getFloat64(at, true);
  }

  float(): number {
    this.#expect(FIXED32);
    const at = this.#advance(4);
    return this.#view.getFloat32(at, true);
  }

  /** Text as UTF-8; invalid sequences become U+FFFD. */
  text(): string {
    const length = this.#length();
    if (length > MAX_TEXT) throw new WireError(`a text of ${length} bytes (at most ${MAX_TEXT} are read)`, this.pos);
    const start = this.#advance(length);
    return utf8.decode(this.#bytes.subarray(start, start + length));
  }

  /** Skips the value of the field at hand. */
  skip(): void {
    if (this.#type === BYTES) this.#advance(this.#length());
    else if (this.#type === VARINT) this.#varint();
    else if (this.#type === FIXED64) this.#advance(8);
    else if (this.#type === FIXED32) this.#advance(4);
    else throw new WireError(`field ${this.field} has wire type ${this.#type}, which reports do not use`, this.pos);
  }

  /** Whether the field at hand holds a varint. */
  isUint(): boolean {
    return this.#type === VARINT;
  }

  #expect(type: number): void {
    if (this.#type === type) return;
    throw new WireError(`field ${this.field} has wire type ${this.#type} where ${type} is expected`, this.pos);
  }

  /** The length of the field at hand, checked against what is left of the message. */
  #length(): number {
    this.#expect(BYTES);
    const length = this.#varint();
    if (length <= this.end - this.pos) return length;
    throw new WireError(`field ${this.field} of ${length} bytes where ${this.end - this.pos} are left`, this.pos);
  }

  #advance(length: number): number {
    const start = this.pos;
    if (length > this.end - start) {
      throw new WireError(`field ${this.field} of ${length} bytes where ${this.end - start} are left`, start);
    }
    this.pos = start + length;
    return start;
  }

  #varint(): number {
    const bytes = this.#bytes;
    const end = this.end;
    let pos = this.pos;
    let value = 0;
    let scale = 1;
    for (let count = 0; count < 10; count += 1) {
      if (pos >= end) throw new WireError("a varint runs past the end of its message", this.pos);
      const byte = bytes[pos++] as number;
      if (byte < 0x80) {
        this.pos = pos;
        return value + byte * scale;
      }
      value += (byte & 0x7f) * scale;
      scale *= 128;
    }
    throw new WireError("a varint of more than ten bytes", this.pos);
  }
}

import { type Bytes, joinBytes } from "../core/mod.ts";
import { ProtobufWriter, readProtobuf } from "../wire/mod.ts";

/** The paths of a Konnectivity server's two services. */
export const konnectivityProxyPath = "/ProxyService/Proxy";
export const konnectivityAgentPath = "/AgentService/Connect";

/** The packets of Konnectivity clients, servers and agents. Ids are signed 64-bit numbers. */
export type Packet =
  /** `random` identifies a dial before it has a `connectId`. */
  | {
    readonly type: "dialRequest";
    readonly protocol: string;
    readonly address: string;
    readonly random: bigint;
  }
  | {
    readonly type: "dialResponse";
    readonly error: string;
    readonly connectId: bigint;
    readonly random: bigint;
  }
  | { readonly type: "closeRequest"; readonly connectId: bigint }
  | { readonly type: "closeResponse"; readonly error: string; readonly connectId: bigint }
  | { readonly type: "data"; readonly connectId: bigint; readonly error: string; readonly data: Bytes }
  /** Cancels an unanswered dial. */
  | { readonly type: "closeDial"; readonly random: bigint }
  /** The agent accepts no more connections. */
  | { readonly type: "drain" }
  /**
   * A postern extension, sent only to peers that support it: the sender grants `bytes` more of this
   * connection's data. An unread connection then does not block others.
   */
  | { readonly type: "window"; readonly connectId: bigint; readonly bytes: number }
  /** A postern extension: the sender's half-close; it still receives. */
  | { readonly type: "end"; readonly connectId: bigint }
  | { readonly type: "unknown"; readonly number: bigint };

/** The number of each packet type and the field that holds its content. */
const kinds = {
  dialRequest: { number: 0n, field: 2 },
  dialResponse: { number: 1n, field: 3 },
  closeRequest: { number: 2n, field: 5 },
  closeResponse: { number: 3n, field: 6 },
  data: { number: 4n, field: 4 },
  closeDial: { number: 5n, field: 7 },
  drain: { number: 6n, field: 8 },
  window: { number: 1001n, field: 1001 },
  end: { number: 1002n, field: 1002 },
} as const;

/** Encodes a packet and leaves `before` bytes free in front of it. */
export function encodePacket(packet: Exclude<Packet, { type: "unknown" }>, before = 0): Bytes {
  const { head, data } = encodePacketParts(packet, before);
  return joinBytes([head, data]);
}

/** Encodes a packet in two parts, `head` and `data`, so that sending need not copy the data. */
export function encodePacketParts(
  packet: Exclude<Packet, { type: "unknown" }>,
  before = 0,
): { readonly head: Bytes; readonly data: Bytes } {
  const data = packet.type === "data" ? packet.data : nothing;
  const { number, field } = kinds[packet.type];
  const content = contentOf(packet);
  // Data come last and may be large, so the sender adds them without a copy.
  if (data.length > 0) content.bytesHead(3, data.length);
  const whole = new ProtobufWriter().number(1, number).message(field, content, data.length);
  const head = new Uint8Array(before + whole.length);
  whole.writeInto(head, before);
  return { head, data };
}

function contentOf(packet: Exclude<Packet, { type: "unknown" }>): ProtobufWriter {
  const content = new ProtobufWriter();
  switch (packet.type) {
    case "dialRequest":
      return content.text(1, packet.protocol).text(2, packet.address).number(3, packet.random);
    case "dialResponse":
      return content.text(1, packet.error).number(2, packet.connectId).number(3, packet.random);
    case "closeRequest":
    case "end":
      return content.number(1, packet.connectId);
    case "closeResponse":
      return content.text(1, packet.error).number(2, packet.connectId);
    case "data":
      return content.number(1, packet.connectId).text(2, packet.error);
    case "closeDial":
      return content.number(1, packet.random);
    case "window":
      return content.number(1, packet.connectId).number(2, packet.bytes);
    case "drain":
      return content;
  }
}

/** Decodes a packet; its data are a view of `bytes`. Missing fields are zero or empty, as in protobuf. */
export function decodePacket(bytes: Bytes): Packet {
  return decodeData(bytes) ?? decodeAny(bytes);
}

/** Fast path for usual data packets: fields in order, no error, a small id. */
function decodeData(bytes: Bytes): Packet | undefined {
  // Field 1 is the type 4, and field 4 is the content.
  if (bytes[0] !== 0x08 || bytes[1] !== 4 || bytes[2] !== 0x22) return undefined;
  const content = readSmall(bytes, 3);
  if (content === undefined || content.end + content.value !== bytes.length) return undefined;
  if (bytes[content.end] !== 0x08) return undefined;
  const id = readSmall(bytes, content.end + 1);
  if (id === undefined || bytes[id.end] !== 0x1a) return undefined;
  const length = readSmall(bytes, id.end + 1);
  if (length === undefined || length.end + length.value !== bytes.length) return undefined;
  return { type: "data", connectId: BigInt(id.value), error: "", data: bytes.subarray(length.end) };
}

/** Reads a number of at most four bytes and returns its end. */
function readSmall(bytes: Bytes, at: number): { value: number; end: number } | undefined {
  let value = 0;
  for (let count = 0; count < 4; count++) {
    const byte = bytes[at + count];
    if (byte === undefined) return undefined;
    value |= (byte & 0x7f) << 7 * count;
    if (byte < 0x80) return { value, end: at + count + 1 };
  }
  return undefined;
}

function decodeAny(bytes: Bytes): Packet {
  let number = 0n;
  // The last content wins; repeated contents of one type are merged.
  let of = 0, content = new Content();
  for (const field of readProtobuf(bytes)) {
    if (field.kind === "number") {
      if (field.number === 1) number = BigInt.asIntN(32, field.value);
    } else if (contentFields.has(field.number)) {
      if (field.number !== of) content = new Content();
      content.read(field.value);
      of = field.number;
    }
  }
  const type = typeOf.get(number);
  if (type === undefined) return { type: "unknown", number };
  if (of !== kinds[type].field) content = new Content();
  switch (type) {
    case "dialRequest":
      return { type, protocol: content.text(1), address: content.text(2), random: content.id(3) };
    case "dialResponse":
      return { type, error: content.text(1), connectId: content.id(2), random: content.id(3) };
    case "closeRequest":
    case "end":
      return { type, connectId: content.id(1) };
    case "closeResponse":
      return { type, error: content.text(1), connectId: content.id(2) };
    case "data":
      return { type, connectId: content.id(1), error: content.text(2), data: content.bytes(3) };
    case "closeDial":
      return { type, random: content.id(1) };
    case "window":
      return { type, connectId: content.id(1), bytes: Number(content.id(2)) };
    case "drain":
      return { type };
  }
}

const typeOf = new Map(
  Object.entries(kinds).map(([type, { number }]) => [number as bigint, type as keyof typeof kinds]),
);
const contentFields = new Set<number>(Object.values(kinds).map(({ field }) => field));
const nothing: Bytes = new Uint8Array(0);
// Keep a byte order mark like any other character.
const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });

/** The fields of one packet's content; the last value of each field wins. */
class Content {
  readonly #numbers = new Map<number, bigint>();
  readonly #bytes = new Map<number, Bytes>();

  read(bytes: Bytes): void {
    for (const field of readProtobuf(bytes)) {
      if (field.kind === "number") this.#numbers.set(field.number, field.value);
      else this.#bytes.set(field.number, field.value);
    }
  }

  id(field: number): bigint {
    return BigInt.asIntN(64, this.#numbers.get(field) ?? 0n);
  }

  bytes(field: number): Bytes {
    return this.#bytes.get(field) ?? nothing;
  }

  text(field: number): string {
    return utf8.decode(this.bytes(field));
  }
}

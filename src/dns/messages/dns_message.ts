import type { Decode } from "../../core/mod.ts";
import { type Cursor, decoder, malformed } from "../../wire/mod.ts";
import { NameWriter, readName } from "./dns_name.ts";
import {
  type DnsRecord,
  type DnsType,
  dnsTypeCode,
  dnsTypeCodes,
  readData,
  typeOf,
  u16,
  u32,
  writeData,
} from "./dns_records.ts";

/** Response codes (RFC 1035, section 4.1.1; RFC 6891, section 9). */
export const dnsRcodes = {
  noError: 0,
  formatError: 1,
  serverFailure: 2,
  nameError: 3,
  notImplemented: 4,
  refused: 5,
  badVersion: 16,
} as const;

export const dnsQueryOpcode = 0;

/** The class "Internet" and the class that matches any. */
export const dnsClasses = { internet: 1, any: 255 } as const;

/** The maximum size of a message in bytes. */
const mostBytes = 0xffff;

export interface DnsQuestion {
  readonly name: string;
  readonly type: DnsType;
  readonly class: number;
}

/** The content of an OPT record (RFC 6891, section 6.1). */
export interface Edns {
  /** The largest datagram that the sender accepts. */
  readonly size: number;
  readonly version: number;
  readonly wantsDnssec: boolean;
  readonly options: Uint8Array<ArrayBuffer>;
}

/** The header of a message, without its counts. */
export interface DnsHeader {
  readonly id: number;
  readonly isResponse: boolean;
  readonly opcode: number;
  readonly isAuthoritative: boolean;
  readonly isTruncated: boolean;
  readonly wantsRecursion: boolean;
  readonly offersRecursion: boolean;
  /** DNSSEC flags AD and CD (RFC 4035, sections 3.1.6 and 3.2.2). */
  readonly isAuthentic: boolean;
  readonly isUnchecked: boolean;
  /** 12 bits with an OPT record, otherwise 4. */
  readonly rcode: number;
}

/** A whole message. The OPT record is in `edns`, not in the additionals. */
export interface DnsMessage extends DnsHeader {
  readonly questions: readonly DnsQuestion[];
  readonly answers: readonly DnsRecord[];
  readonly authorities: readonly DnsRecord[];
  readonly additionals: readonly DnsRecord[];
  readonly edns?: Edns;
}

/** A query for the addresses of a name, from a client that wants recursion. */
export function dnsQuestion(id: number, name: string, type: "A" | "AAAA"): DnsMessage {
  return {
    id,
    isResponse: false,
    opcode: dnsQueryOpcode,
    isAuthoritative: false,
    isTruncated: false,
    wantsRecursion: true,
    offersRecursion: false,
    isAuthentic: false,
    isUnchecked: false,
    rcode: dnsRcodes.noError,
    questions: [{ name, type, class: dnsClasses.internet }],
    answers: [],
    authorities: [],
    additionals: [],
  };
}

//  0  1  2  3  4  5  6  7  8  9  0  1  2  3  4  5
// +--+--+--+--+--+--+--+--+--+--+--+--+--+--+--+--+
// |                      ID                       |   RFC 1035, section 4.1.1
// |QR|   OPCODE  |AA|TC|RD|RA| Z|AD|CD|   RCODE   |   RFC 4035 for AD and CD
// |        QDCOUNT, ANCOUNT, NSCOUNT, ARCOUNT     |
// +--+--+--+--+--+--+--+--+--+--+--+--+--+--+--+--+
const bits = {
  isResponse: 0x8000,
  isAuthoritative: 0x0400,
  isTruncated: 0x0200,
  wantsRecursion: 0x0100,
  offersRecursion: 0x0080,
  isAuthentic: 0x0020,
  isUnchecked: 0x0010,
} as const;

/** Decodes only the header, for messages whose rest is unreadable. */
export const decodeDnsHeader: Decode<DnsHeader> = decoder((cursor) => {
  const header = readHeader(cursor);
  cursor.take(8);
  return header;
});

export function decodeDnsMessage(bytes: Uint8Array<ArrayBuffer>): ReturnType<Decode<DnsMessage>> {
  return decoder((cursor) => readMessage(cursor, bytes))(bytes);
}

/** Decodes length-prefixed messages of a stream (RFC 1035, section 4.2.2), up to `most` bytes each. */
export function dnsFrameDecoder(most = mostBytes): Decode<Uint8Array<ArrayBuffer>> {
  return decoder((cursor) => {
    const length = cursor.u16();
    if (length > most) throw malformed(`a message of ${length} bytes`);
    return cursor.take(length).slice();
  });
}

/** Adds the length prefix of a stream. */
export function encodeDnsFrame(message: Uint8Array): Uint8Array<ArrayBuffer> {
  const frame = new Uint8Array(message.length + 2);
  frame.set(u16(message.length));
  frame.set(message, 2);
  return frame;
}

function readHeader(cursor: Cursor): DnsHeader {
  const [id, flags] = [cursor.u16(), cursor.u16()];
  const has = (name: keyof typeof bits) => (flags & bits[name]) !== 0;
  return {
    id,
    isResponse: has("isResponse"),
    opcode: flags >> 11 & 15,
    isAuthoritative: has("isAuthoritative"),
    isTruncated: has("isTruncated"),
    wantsRecursion: has("wantsRecursion"),
    offersRecursion: has("offersRecursion"),
    isAuthentic: has("isAuthentic"),
    isUnchecked: has("isUnchecked"),
    rcode: flags & 15,
  };
}

function readMessage(cursor: Cursor, message: Uint8Array<ArrayBuffer>): DnsMessage {
  const header = readHeader(cursor);
  const counts = [cursor.u16(), cursor.u16(), cursor.u16(), cursor.u16()];
  const [asked = 0, answered = 0, authorized = 0, added = 0] = counts;
  const questions: DnsQuestion[] = [];
  for (let count = 0; count < asked; count++) {
    const name = readName(cursor, message);
    questions.push({ name, type: typeOf(cursor.u16()), class: cursor.u16() });
  }
  let opt: (Edns & { readonly rcode: number }) | undefined;
  const read = (count: number, isLast: boolean): DnsRecord[] => {
    const records: DnsRecord[] = [];
    for (; count > 0; count--) {
      const found = readRecord(cursor, message);
      if ("rcode" in found) {
        if (!isLast || opt) throw malformed("an unexpected OPT record");
        opt = found;
      } else records.push(found);
    }
    return records;
  };
  const [answers, authorities, additionals] = [
    read(answered, false),
    read(authorized, false),
    read(added, true),
  ];
  if (!opt) return { ...header, questions, answers, authorities, additionals };
  const { rcode, ...edns } = opt;
  return { ...header, rcode: header.rcode | rcode << 4, questions, answers, authorities, additionals, edns };
}

function readRecord(
  cursor: Cursor,
  message: Uint8Array<ArrayBuffer>,
): DnsRecord | (Edns & { readonly rcode: number }) {
  const name = readName(cursor, message);
  const type = typeOf(cursor.u16());
  const kind = cursor.u16();
  const ttl = cursor.u32();
  const length = cursor.u16();
  if (type === "OPT") {
    // The class field holds the size and the TTL field the rest (RFC 6891, section 6.1.3).
    if (name !== "") throw malformed("an OPT record with a name");
    return {
      size: kind,
      rcode: ttl >>> 24,
      version: ttl >>> 16 & 255,
      wantsDnssec: (ttl & 0x8000) !== 0,
      options: cursor.take(length).slice(),
    };
  }
  const data = readData(type, length, { cursor, message });
  return { name, ttl, ...(kind !== dnsClasses.internet && { class: kind }), ...data };
}

/**
 * Encodes a message of at most `limit` bytes. Drops additional records that do not fit. If answers or
 * authorities do not fit, drops those too and sets the truncation flag.
 */
export function encodeDnsMessage(message: DnsMessage, { limit = mostBytes } = {}): Uint8Array<ArrayBuffer> {
  const names = new NameWriter();
  const bytes: number[] = new Array<number>(12).fill(0);
  for (const { name, type, class: kind } of message.questions) {
    append(bytes, names.write(name, bytes.length), u16(dnsTypeCode(type)), u16(kind));
  }
  const opt = message.edns ? optBytes(message.edns, message.rcode) : [];
  const room = limit - opt.length;
  let isCut = false;
  const write = (records: readonly DnsRecord[]): number => {
    let count = 0;
    for (const record of isCut ? [] : records) {
      const start = bytes.length;
      append(bytes, recordBytes(record, start, names));
      if (bytes.length > room) {
        // Later names could point into the removed bytes, so nothing is written after them.
        bytes.length = start;
        isCut = true;
        break;
      }
      count++;
    }
    return count;
  };
  const [answered, authorized] = [write(message.answers), write(message.authorities)];
  const isTruncated = message.isTruncated || isCut;
  const added = write(message.additionals) + (message.edns ? 1 : 0);
  append(bytes, opt);
  const counts = [message.questions.length, answered, authorized, added];
  const head = [message.id, flagsOf({ ...message, isTruncated }), ...counts].flatMap(u16);
  const encoded = Uint8Array.from(bytes);
  encoded.set(head);
  return encoded;
}

function append(bytes: number[], ...parts: readonly (readonly number[])[]): void {
  for (const part of parts) for (const byte of part) bytes.push(byte);
}

function recordBytes(record: DnsRecord, at: number, names: NameWriter): number[] {
  const name = names.write(record.name, at);
  const data = writeData(record, at + name.length + 10, names);
  const kind = record.class ?? dnsClasses.internet;
  return [
    ...name,
    ...u16(dnsTypeCode(record.type)),
    ...u16(kind),
    ...u32(record.ttl),
    ...u16(data.length),
    ...data,
  ];
}

function optBytes({ size, version, wantsDnssec, options }: Edns, rcode: number): number[] {
  const extended = [rcode >> 4 & 255, version, wantsDnssec ? 0x80 : 0, 0];
  return [0, ...u16(dnsTypeCodes.OPT), ...u16(size), ...extended, ...u16(options.length), ...options];
}

function flagsOf(header: DnsHeader): number {
  let flags = header.opcode << 11 | header.rcode & 15;
  for (const name of Object.keys(bits) as (keyof typeof bits)[]) if (header[name]) flags |= bits[name];
  return flags;
}

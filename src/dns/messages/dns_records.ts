import { formatIp, parseIp, PosternError } from "../../words/mod.ts";
import { type Cursor, malformed } from "../../wire/mod.ts";
import { type NameWriter, readName } from "./dns_name.ts";

/** Record types with known data (RFC 1035, section 3.2.2; RFC 3596; RFC 2782; RFC 6891). */
export const dnsTypeCodes = {
  A: 1,
  NS: 2,
  CNAME: 5,
  SOA: 6,
  PTR: 12,
  AAAA: 28,
  SRV: 33,
  OPT: 41,
  ANY: 255,
} as const;

/** A type by name, or by number if unknown. */
export type DnsType = keyof typeof dnsTypeCodes | number;

const typeNames = new Map<number, DnsType>(
  Object.entries(dnsTypeCodes).map(([name, code]) => [code, name as DnsType]),
);

export function typeOf(code: number): DnsType {
  return typeNames.get(code) ?? code;
}

export function dnsTypeCode(type: DnsType): number {
  return typeof type === "number" ? type : dnsTypeCodes[type];
}

/** The common fields of records. The class defaults to 1, the Internet. */
interface Owned {
  readonly name: string;
  /** In seconds. */
  readonly ttl: number;
  readonly class?: number;
}

export type DnsData =
  | { readonly type: "A" | "AAAA"; readonly address: string }
  | { readonly type: "NS" | "CNAME" | "PTR"; readonly target: string }
  | {
    readonly type: "SRV";
    readonly priority: number;
    readonly weight: number;
    readonly port: number;
    readonly target: string;
  }
  | {
    readonly type: "SOA";
    readonly primary: string;
    readonly mailbox: string;
    readonly serial: number;
    readonly refresh: number;
    readonly retry: number;
    readonly expire: number;
    /** TTL of negative answers (RFC 2308, section 4). */
    readonly minimum: number;
  }
  | { readonly type: number; readonly data: Uint8Array<ArrayBuffer> };

export type DnsRecord = Owned & DnsData;

/** Decodes `length` bytes of record data. */
export function readData(
  type: DnsType,
  length: number,
  { cursor, message }: { cursor: Cursor; message: Uint8Array<ArrayBuffer> },
): DnsData {
  const end = cursor.used + length;
  const data = dataOf(type, length, { cursor, message });
  if (cursor.used !== end) throw malformed("a record whose data does not match its length");
  return data;
}

function dataOf(
  type: DnsType,
  length: number,
  { cursor, message }: { cursor: Cursor; message: Uint8Array<ArrayBuffer> },
): DnsData {
  switch (type) {
    case "A":
      return { type, address: formatIp(cursor.take(4)) };
    case "AAAA":
      return { type, address: formatIp(cursor.take(16)) };
    case "NS":
    case "CNAME":
    case "PTR":
      return { type, target: readName(cursor, message) };
    case "SRV": {
      const [priority, weight, port] = [cursor.u16(), cursor.u16(), cursor.u16()];
      return { type, priority, weight, port, target: readName(cursor, message) };
    }
    case "SOA": {
      const [primary, mailbox] = [readName(cursor, message), readName(cursor, message)];
      const [serial, refresh, retry] = [cursor.u32(), cursor.u32(), cursor.u32()];
      return {
        type,
        primary,
        mailbox,
        serial,
        refresh,
        retry,
        expire: cursor.u32(),
        minimum: cursor.u32(),
      };
    }
    default:
      return { type: dnsTypeCode(type), data: cursor.take(length).slice() };
  }
}

/** Encodes the data of a record at offset `at`. */
export function writeData(data: DnsData, at: number, names: NameWriter): number[] {
  switch (data.type) {
    case "A":
    case "AAAA": {
      const bytes = parseIp(data.address);
      if (bytes?.length !== (data.type === "A" ? 4 : 16)) {
        throw new PosternError("internal", `Cannot encode "${data.address}" as a record address`);
      }
      return [...bytes];
    }
    case "NS":
    case "CNAME":
    case "PTR":
      return names.write(data.target, at);
    case "SRV":
      // The name must not be compressed (RFC 2782, "Target").
      return [
        ...u16(data.priority),
        ...u16(data.weight),
        ...u16(data.port),
        ...names.write(data.target, at + 6, { compressed: false }),
      ];
    case "SOA": {
      const primary = names.write(data.primary, at);
      const { serial, refresh, retry, expire, minimum } = data;
      const numbers = [serial, refresh, retry, expire, minimum].flatMap(u32);
      return [...primary, ...names.write(data.mailbox, at + primary.length), ...numbers];
    }
    default:
      return [...data.data];
  }
}

/** Two bytes, big-endian. */
export function u16(value: number): number[] {
  return [value >> 8 & 255, value & 255];
}

/** Four bytes, big-endian. */
export function u32(value: number): number[] {
  return [...u16(value >>> 16), ...u16(value & 0xffff)];
}

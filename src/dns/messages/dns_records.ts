import { formatIp, parseIp, PosternError } from "../../words/mod.ts";
import { type Cursor, malformed } from "../../wire/mod.ts";
import { type NameWriter, readName } from "./dns_name.ts";

/** The types whose data we know, by their numbers (RFC 1035, section 3.2.2; RFC 3596; RFC 2782; RFC 6891). */
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

/** A type by its name, or by its number where we know no name. */
export type DnsType = keyof typeof dnsTypeCodes | number;

const typeNames = new Map<number, DnsType>(
  Object.entries(dnsTypeCodes).map(([name, code]) => [code, name as DnsType]),
);

/** The type of a number. */
export function typeOf(code: number): DnsType {
  return typeNames.get(code) ?? code;
}

/** The number of a type. */
export function dnsTypeCode(type: DnsType): number {
  return typeof type === "number" ? type : dnsTypeCodes[type];
}

/** What every record has. The class is 1, the Internet, unless named. */
interface Owned {
  readonly name: string;
  /** In seconds. */
  readonly ttl: number;
  readonly class?: number;
}

/** A record's data by its type. */
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
    /** How long an answer that there is nothing may be kept (RFC 2308, section 4). */
    readonly minimum: number;
  }
  | { readonly type: number; readonly data: Uint8Array<ArrayBuffer> };

/** One record. */
export type DnsRecord = Owned & DnsData;

/** Reads the data of a record whose type we know from `length` bytes. */
export function readData(
  type: DnsType,
  length: number,
  { cursor, message }: { cursor: Cursor; message: Uint8Array<ArrayBuffer> },
): DnsData {
  const end = cursor.used + length;
  const data = dataOf(type, length, { cursor, message });
  if (cursor.used !== end) throw malformed("a record whose data is of another length than it says");
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

/** The data of a record that begins at `at` in its message. */
export function writeData(data: DnsData, at: number, names: NameWriter): number[] {
  switch (data.type) {
    case "A":
    case "AAAA": {
      const bytes = parseIp(data.address);
      if (bytes?.length !== (data.type === "A" ? 4 : 16)) {
        throw new PosternError("internal", `Cannot write "${data.address}" as the address of a record`);
      }
      return [...bytes];
    }
    case "NS":
    case "CNAME":
    case "PTR":
      return names.write(data.target, at);
    case "SRV":
      // Its name must not be compressed (RFC 2782, "Target").
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

/** Two bytes, the high one first. */
export function u16(value: number): number[] {
  return [value >> 8 & 255, value & 255];
}

/** Four bytes, the highest first. */
export function u32(value: number): number[] {
  return [...u16(value >>> 16), ...u16(value & 0xffff)];
}

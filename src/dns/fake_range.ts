import { refine, type Schema } from "../config/mod.ts";
import { formatIp, parseIp, parseIPv4, unmapped } from "../words/mod.ts";

/** A range of unused IPv4 addresses that stand for names. */
export interface FakeRange {
  /** `198.18.0.0/15`. */
  readonly text: string;
  /** The first address as a number. */
  readonly first: number;
  /** The number of addresses. */
  readonly size: number;
}

/**
 * The range for lookups of SOCKS clients without `dns.fakeRange`. The block 240.0.0.0/4 is reserved (RFC 1112),
 * so a client that connects to such an address without postern reaches nothing.
 */
export const lookupRange: FakeRange = { text: "253.198.0.0/15", first: 0xfd_c6_00_00, size: 2 ** 17 };

/** Parses a range; undefined if the text is invalid. */
export function parseFakeRange(text: string): FakeRange | undefined {
  const [, address = "", length = ""] = /^([0-9.]+)\/([0-9]{1,2})$/.exec(text) ?? [];
  const bytes = parseIPv4(address);
  const bits = Number(length);
  // A network larger than /8 would cover real addresses; one smaller than /28 would soon be full.
  if (!bytes || bits < 8 || bits > 28) return undefined;
  const size = 2 ** (32 - bits);
  const number = numberOf(bytes);
  const first = number - number % size;
  return { text: `${formatIp(bytesOf(first))}/${bits}`, first, size };
}

/** The index of an address in the range; undefined outside the range. */
export function placeIn({ first, size }: FakeRange, address: string): number | undefined {
  const bytes = parseIp(address);
  // The address may be an IPv4-mapped IPv6 address.
  const four = bytes && unmapped(bytes);
  if (four?.length !== 4) return undefined;
  const place = numberOf(four) - first;
  return place >= 0 && place < size ? place : undefined;
}

/** The address at an index of the range. */
export function addressAt({ first }: FakeRange, place: number): string {
  return formatIp(bytesOf(first + place));
}

/** Whether two ranges share an address. */
export function overlap(one: FakeRange, other: FakeRange): boolean {
  return one.first < other.first + other.size && other.first < one.first + one.size;
}

export function fakeRange(): Schema<FakeRange> {
  return range("an unused IPv4 network from /8 to /28, such as 198.18.0.0/15");
}

/** A range of loopback addresses that this machine does not use itself. */
export function loopbackRange(): Schema<FakeRange> {
  return refine(range("an IPv4 network from /9 to /28 in 127.0.0.0/8, such as 127.64.0.0/12"), (written) => {
    if (!overlap(loopback, written) || written.size >= loopback.size) {
      return `must be in 127.0.0.0/8, such as 127.64.0.0/12: current value is "${written.text}"`;
    }
    // 127.0.0.1 is localhost, 127.0.0.53 systemd-resolved, 127.0.1.1 this machine's name on Debian.
    if (overlap(usual, written)) {
      return `must not contain addresses of ${usual.text}, such as 127.0.0.1 and 127.0.0.53: ` +
        `current value is "${written.text}"; use, for example, 127.64.0.0/12`;
    }
    return undefined;
  });
}

const loopback: FakeRange = { text: "127.0.0.0/8", first: 0x7f000000, size: 2 ** 24 };
/** The loopback addresses that systems use themselves. */
const usual: FakeRange = { text: "127.0.0.0/16", first: 0x7f000000, size: 2 ** 16 };

function range(expects: string): Schema<FakeRange> {
  return {
    expects,
    shapes: ["text"],
    parse(value, context) {
      const range = typeof value === "string" ? parseFakeRange(value) : undefined;
      if (!range) {
        context.report(`must be ${expects}: current value is ${JSON.stringify(value)?.slice(0, 60)}`);
        return undefined;
      }
      if (range.text !== value) {
        context.report(`has bits beyond its prefix: postern uses ${range.text}`, "warning");
      }
      return range;
    },
    json: () => ({ type: "string", pattern: "^[0-9.]+/[0-9]{1,2}$" }),
    write: (value) => isFakeRange(value) ? value.text : value,
  };
}

function isFakeRange(value: unknown): value is FakeRange {
  return typeof value === "object" && value !== null && "text" in value && "first" in value;
}

function numberOf(bytes: Uint8Array): number {
  return bytes.reduce((sum, byte) => sum * 256 + byte, 0);
}

function bytesOf(number: number): Uint8Array {
  return Uint8Array.of(number >>> 24, number >>> 16, number >>> 8, number);
}

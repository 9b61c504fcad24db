import type { Decode } from "../core/mod.ts";
import { formatIp, parseIPv4, PosternError, type Target } from "../words/mod.ts";
import { decoder, malformed } from "./decoder.ts";
import { decodeHost } from "./host.ts";

/** The commands, and Tor's lookup of a name (socks-extensions, section 2). */
export const socks4Commands = { connect: 1, bind: 2, resolve: 0xf0 } as const;

/** The reply codes; 0x5D means a wrong user id. */
export const socks4Replies = { granted: 0x5a, refused: 0x5b, wrongUser: 0x5d } as const;

/** A request; the user id is unverified. */
export interface Socks4Request {
  readonly command: number;
  readonly target: Target;
  readonly user: string;
}

// +----+----+---------+-------+--------+----+------------+----+
// | VN | CD | DSTPORT | DSTIP | USERID | 0  | HOST (4a)  | 0  |   SOCKS 4, and 4A when DSTIP is 0.0.0.x
// +----+----+---------+-------+--------+----+------------+----+
export const decodeSocks4Request: Decode<Socks4Request> = decoder((cursor) => {
  const version = cursor.u8();
  if (version !== 4) throw malformed(`version ${version} instead of 4`);
  const command = cursor.u8();
  const port = cursor.u16();
  const ip = cursor.take(4);
  const user = text.decode(cursor.takeUntil(0, 255));
  const isNamed = ip[0] === 0 && ip[1] === 0 && ip[2] === 0 && ip[3] !== 0;
  const host = isNamed ? decodeHost(cursor.takeUntil(0, 255)) : formatIp(ip);
  return { command, target: { host, port }, user };
});

/** Encodes a request: SOCKS4 for an IPv4 address, otherwise SOCKS4a. */
export function encodeSocks4Request({ command, target, user }: Socks4Request): Uint8Array<ArrayBuffer> {
  const ip = parseIPv4(target.host);
  return Uint8Array.of(
    4,
    command,
    target.port >> 8,
    target.port & 255,
    ...(ip ?? [0, 0, 0, 1]),
    ...terminated(user),
    ...(ip ? [] : terminated(target.host)),
  );
}

/** Reads a reply's code; its address has no meaning after CONNECT. */
export const decodeSocks4Reply: Decode<number> = decoder((cursor) => {
  const version = cursor.u8();
  if (version !== 0) throw malformed(`version ${version} instead of 0`);
  const code = cursor.u8();
  cursor.take(6);
  return code;
});

/** Encodes a reply; `address` is the IPv4 address that answers a lookup. */
export function encodeSocks4Reply(code: number, address = "0.0.0.0"): Uint8Array<ArrayBuffer> {
  const ip = parseIPv4(address);
  if (!ip) {
    throw new PosternError("name_not_found", `Cannot send ${address} over SOCKS4: not an IPv4 address`);
  }
  return Uint8Array.of(0, code, 0, 0, ...ip);
}

const text = new TextDecoder();

function terminated(value: string): number[] {
  const bytes = new TextEncoder().encode(value);
  if (bytes.length > 255 || bytes.includes(0)) {
    throw new PosternError(
      "usage",
      "Cannot send a text with a zero byte or more than 255 bytes over SOCKS4",
    );
  }
  return [...bytes, 0];
}

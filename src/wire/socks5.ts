import type { Decode } from "../core/mod.ts";
import { formatIp, parseIp, PosternError, type Target } from "../words/mod.ts";
import { type Cursor, decoder, malformed } from "./decoder.ts";
import { decodeHost } from "./host.ts";

/** How a client may sign in (RFC 1928, section 3). */
export const socks5Methods = { none: 0, password: 2, unacceptable: 0xff } as const;

/** What a client may ask for (RFC 1928, section 4). */
export const socks5Commands = { connect: 1, bind: 2, associate: 3 } as const;

/** The first message of a client: the ways to sign in that it offers. */
export interface Socks5Greeting {
  readonly methods: readonly number[];
}

/** A user and a password (RFC 1929, section 2). */
export interface Socks5Credentials {
  readonly user: string;
  readonly password: string;
}

/** What a client asks for; the command is kept as it came, because its reply must say that it is unknown. */
export interface Socks5Request {
  readonly command: number;
  readonly target: Target;
}

/** The answer to a request: 0 is success. */
export interface Socks5Reply {
  readonly code: number;
  readonly bound: Target;
}

// +-----+----------+----------+
// | VER | NMETHODS | METHODS  |   RFC 1928, section 3
// +-----+----------+----------+
/** Reads a client's greeting. */
export const decodeSocks5Greeting: Decode<Socks5Greeting> = decoder((cursor) => {
  expectVersion(cursor, 5);
  return { methods: [...cursor.take(cursor.u8())] };
});

/** Writes a client's greeting. */
export function encodeSocks5Greeting({ methods }: Socks5Greeting): Uint8Array<ArrayBuffer> {
  return Uint8Array.of(5, methods.length, ...methods);
}

/** Reads the server's choice among the methods. */
export const decodeSocks5Choice: Decode<number> = decoder((cursor) => {
  expectVersion(cursor, 5);
  return cursor.u8();
});

/** Writes the server's choice among the methods. */
export function encodeSocks5Choice(method: number): Uint8Array<ArrayBuffer> {
  return Uint8Array.of(5, method);
}

// +-----+------+----------+------+----------+
// | VER | ULEN |  UNAME   | PLEN |  PASSWD  |   RFC 1929, section 2
// +-----+------+----------+------+----------+
/** Reads a user and a password; bytes that are not UTF-8 become characters that match no password. */
export const decodeSocks5Credentials: Decode<Socks5Credentials> = decoder((cursor) => {
  expectVersion(cursor, 1);
  const user = text.decode(cursor.take(cursor.u8()));
  return { user, password: text.decode(cursor.take(cursor.u8())) };
});

/** Writes a user and a password. */
export function encodeSocks5Credentials({ user, password }: Socks5Credentials): Uint8Array<ArrayBuffer> {
  const [name, secret] = [sized(user, "user name"), sized(password, "password")];
  return Uint8Array.of(1, name.length, ...name, secret.length, ...secret);
}

/** Reads whether the server took the password. */
export const decodeSocks5Verdict: Decode<boolean> = decoder((cursor) => {
  expectVersion(cursor, 1);
  return cursor.u8() === 0;
});

/** Writes whether the password was right. */
export function encodeSocks5Verdict(isRight: boolean): Uint8Array<ArrayBuffer> {
  return Uint8Array.of(1, isRight ? 0 : 1);
}

// +-----+------+-----+------+----------+----------+
// | VER | CMD  | RSV | ATYP | DST.ADDR | DST.PORT |   RFC 1928, section 4; a reply has REP for CMD
// +-----+------+-----+------+----------+----------+
/** Reads a request. */
export const decodeSocks5Request: Decode<Socks5Request> = decoder((cursor) => {
  expectVersion(cursor, 5);
  const command = cursor.u8();
  cursor.u8();
  return { command, target: { host: readHost(cursor), port: cursor.u16() } };
});

/** Writes a request. */
export function encodeSocks5Request({ command, target }: Socks5Request): Uint8Array<ArrayBuffer> {
  return Uint8Array.of(5, command, 0, ...addressBytes(target));
}

/** Reads a reply; servers that bind a name send one, and some an empty one. */
export const decodeSocks5Reply: Decode<Socks5Reply> = decoder((cursor) => {
  expectVersion(cursor, 5);
  const code = cursor.u8();
  cursor.u8();
  return { code, bound: { host: readBound(cursor), port: cursor.u16() } };
});

const unbound: Target = { host: "0.0.0.0", port: 0 };

/** Writes a reply. */
export function encodeSocks5Reply(code: number, bound: Target = unbound): Uint8Array<ArrayBuffer> {
  return Uint8Array.of(5, code, 0, ...addressBytes(bound));
}

const text = new TextDecoder();
const addressTypes = { v4: 1, name: 3, v6: 4 } as const;

function readHost(cursor: Cursor): string {
  const type = cursor.u8();
  if (type === addressTypes.v4) return formatIp(cursor.take(4));
  if (type === addressTypes.name) return decodeHost(cursor.take(cursor.u8()));
  if (type === addressTypes.v6) return formatIp(cursor.take(16));
  throw new PosternError("protocol", `Cannot read an address of type ${type}`, { detail: "address_type" });
}

function readBound(cursor: Cursor): string {
  const type = cursor.u8();
  if (type === addressTypes.name) return text.decode(cursor.take(cursor.u8()));
  if (type === addressTypes.v4 || type === addressTypes.v6) {
    return formatIp(cursor.take(type === addressTypes.v4 ? 4 : 16));
  }
  throw malformed(`an address of type ${type}`);
}

function addressBytes({ host, port }: Target): number[] {
  const ip = parseIp(host);
  const tail = [port >> 8, port & 255];
  if (ip) return [ip.length === 4 ? addressTypes.v4 : addressTypes.v6, ...ip, ...tail];
  const name = sized(host, "host name");
  return [addressTypes.name, name.length, ...name, ...tail];
}

/** A length travels in one byte. */
function sized(value: string, what: string): Uint8Array<ArrayBuffer> {
  const bytes = new TextEncoder().encode(value);
  if (bytes.length > 255) {
    throw new PosternError("usage", `Cannot send a ${what} of more than 255 bytes by SOCKS5`);
  }
  return bytes;
}

function expectVersion(cursor: Cursor, version: number): void {
  const found = cursor.u8();
  if (found !== version) throw malformed(`version ${found} where ${version} belongs`);
}

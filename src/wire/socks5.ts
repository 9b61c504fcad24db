import type { Decode } from "../core/mod.ts";
import { formatIp, parseIp, PosternError, type Target } from "../words/mod.ts";
import { type Cursor, decoder, malformed } from "./decoder.ts";
import { decodeHost } from "./host.ts";

/** The authentication methods (RFC 1928, section 3). */
export const socks5Methods = { none: 0, password: 2, unacceptable: 0xff } as const;

/** The commands (RFC 1928, section 4), and Tor's lookups (socks-extensions, section 2). */
export const socks5Commands = { connect: 1, bind: 2, associate: 3, resolve: 0xf0, resolvePtr: 0xf1 } as const;

/** The client's first message: the authentication methods it offers. */
export interface Socks5Greeting {
  readonly methods: readonly number[];
}

/** A user and password (RFC 1929, section 2). */
export interface Socks5Credentials {
  readonly user: string;
  readonly password: string;
}

/** A request; an unknown command is kept for the reply. */
export interface Socks5Request {
  readonly command: number;
  readonly target: Target;
}

/** The reply to a request: 0 is success. */
export interface Socks5Reply {
  readonly code: number;
  readonly bound: Target;
}

// +-----+----------+----------+
// | VER | NMETHODS | METHODS  |   RFC 1928, section 3
// +-----+----------+----------+
export const decodeSocks5Greeting: Decode<Socks5Greeting> = decoder((cursor) => {
  expectVersion(cursor, 5);
  return { methods: [...cursor.take(cursor.u8())] };
});

export function encodeSocks5Greeting({ methods }: Socks5Greeting): Uint8Array<ArrayBuffer> {
  return Uint8Array.of(5, methods.length, ...methods);
}

export const decodeSocks5Choice: Decode<number> = decoder((cursor) => {
  expectVersion(cursor, 5);
  return cursor.u8();
});

export function encodeSocks5Choice(method: number): Uint8Array<ArrayBuffer> {
  return Uint8Array.of(5, method);
}

// +-----+------+----------+------+----------+
// | VER | ULEN |  UNAME   | PLEN |  PASSWD  |   RFC 1929, section 2
// +-----+------+----------+------+----------+
/** Reads a user and password; invalid UTF-8 becomes characters that match no password. */
export const decodeSocks5Credentials: Decode<Socks5Credentials> = decoder((cursor) => {
  expectVersion(cursor, 1);
  const user = text.decode(cursor.take(cursor.u8()));
  return { user, password: text.decode(cursor.take(cursor.u8())) };
});

export function encodeSocks5Credentials({ user, password }: Socks5Credentials): Uint8Array<ArrayBuffer> {
  const [name, secret] = [sized(user, "user name"), sized(password, "password")];
  return Uint8Array.of(1, name.length, ...name, secret.length, ...secret);
}

/** Reads whether the server accepted the password. */
export const decodeSocks5Verdict: Decode<boolean> = decoder((cursor) => {
  expectVersion(cursor, 1);
  return cursor.u8() === 0;
});

/** Encodes whether the password is correct. */
export function encodeSocks5Verdict(isRight: boolean): Uint8Array<ArrayBuffer> {
  return Uint8Array.of(1, isRight ? 0 : 1);
}

// +-----+------+-----+------+----------+----------+
// | VER | CMD  | RSV | ATYP | DST.ADDR | DST.PORT |   RFC 1928, section 4; a reply has REP for CMD
// +-----+------+-----+------+----------+----------+
export const decodeSocks5Request: Decode<Socks5Request> = decoder((cursor) => {
  expectVersion(cursor, 5);
  const command = cursor.u8();
  cursor.u8();
  return { command, target: { host: readHost(cursor), port: cursor.u16() } };
});

export function encodeSocks5Request({ command, target }: Socks5Request): Uint8Array<ArrayBuffer> {
  return Uint8Array.of(5, command, 0, ...addressBytes(target));
}

/** Reads a reply; some servers send a bound name, which may be empty. */
export const decodeSocks5Reply: Decode<Socks5Reply> = decoder((cursor) => {
  expectVersion(cursor, 5);
  const code = cursor.u8();
  cursor.u8();
  return { code, bound: { host: readBound(cursor), port: cursor.u16() } };
});

const unbound: Target = { host: "0.0.0.0", port: 0 };

export function encodeSocks5Reply(code: number, bound: Target = unbound): Uint8Array<ArrayBuffer> {
  return Uint8Array.of(5, code, 0, ...addressBytes(bound));
}

const text = new TextDecoder();
const addressTypes = { v4: 1, name: 3, v6: 4 } as const;

/** Reads an address type and an address. */
export function readHost(cursor: Cursor): string {
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
  throw malformed(`an address of unknown type ${type}`);
}

/** Encodes an address type, an address and a port. */
export function addressBytes({ host, port }: Target): number[] {
  const ip = parseIp(host);
  const tail = [port >> 8, port & 255];
  if (ip) return [ip.length === 4 ? addressTypes.v4 : addressTypes.v6, ...ip, ...tail];
  const name = sized(host, "host name");
  return [addressTypes.name, name.length, ...name, ...tail];
}

/** Encodes a text after its length, which is one byte. */
function sized(value: string, what: string): Uint8Array<ArrayBuffer> {
  const bytes = new TextEncoder().encode(value);
  if (bytes.length > 255) {
    throw new PosternError("usage", `Cannot send a ${what} of more than 255 bytes over SOCKS5`);
  }
  return bytes;
}

function expectVersion(cursor: Cursor, version: number): void {
  const found = cursor.u8();
  if (found !== version) throw malformed(`version ${found} instead of ${version}`);
}

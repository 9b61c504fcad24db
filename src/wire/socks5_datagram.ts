import type { Decode } from "../core/mod.ts";
import { isPosternError, PosternError, type Target } from "../words/mod.ts";
import { decoder } from "./decoder.ts";
import { addressBytes, readHost } from "./socks5.ts";

/** The header before the data of each datagram between a SOCKS5 client and its server. */
export interface Socks5DatagramHeader {
  /** 0 for a whole datagram. */
  readonly fragment: number;
  /** The destination of a client's datagram, the source of a reply. */
  readonly target: Target;
}

// +-----+------+------+----------+----------+----------+
// | RSV | FRAG | ATYP | DST.ADDR | DST.PORT |   DATA   |   RFC 1928, section 7
// +-----+------+------+----------+----------+----------+
/** Reads the header; the data is the rest of the datagram. Like other servers, ignores the reserved bytes. */
export const decodeSocks5Datagram: Decode<Socks5DatagramHeader> = decoder((cursor) => {
  cursor.u16();
  const fragment = cursor.u8();
  return { fragment, target: { host: readHost(cursor), port: cursor.u16() } };
});

/** Reads a datagram; undefined if its header is invalid. */
export function readSocks5Datagram(
  bytes: Uint8Array<ArrayBuffer>,
): Socks5DatagramHeader & { readonly data: Uint8Array<ArrayBuffer> } | undefined {
  try {
    const header = decodeSocks5Datagram(bytes);
    return header && { ...header.value, data: bytes.subarray(header.used) };
  } catch (error) {
    if (isPosternError(error, "protocol")) return undefined;
    throw error;
  }
}

/** The size of the largest datagram over IPv4, in bytes. */
const longest = 65_507;

/** Encodes a whole datagram; throws if it is too large to send. */
export function encodeSocks5Datagram(target: Target, data: Uint8Array): Uint8Array<ArrayBuffer> {
  const address = addressBytes(target);
  const bytes = new Uint8Array(3 + address.length + data.length);
  if (bytes.length > longest) {
    throw new PosternError("not_allowed", "Cannot relay a UDP datagram", {
      reason: `with its SOCKS5 header, it has more than ${longest} bytes`,
      detail: "too_large",
    });
  }
  bytes.set(address, 3);
  bytes.set(data, 3 + address.length);
  return bytes;
}

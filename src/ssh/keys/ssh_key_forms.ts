import { decodeBase64 } from "../../core/mod.ts";
import { Buffer } from "node:buffer";
import type { JsonWebKey, KeyObject } from "node:crypto";
import { SshReader, SshWriter } from "../session/ssh_writer.ts";

export type EcCurve = "nistp256" | "nistp384" | "nistp521";

/** Each curve's name in JWK and the size of its numbers. */
const curves: Readonly<Record<EcCurve, { readonly jwk: string; readonly size: number }>> = {
  nistp256: { jwk: "P-256", size: 32 },
  nistp384: { jwk: "P-384", size: 48 },
  nistp521: { jwk: "P-521", size: 66 },
};

/** The public part of a key in ssh's format (RFC 4253, RFC 5656, RFC 8709). */
export function publicBlob(key: KeyObject): Uint8Array<ArrayBuffer> {
  const jwk = key.export({ format: "jwk" });
  const field = (value: unknown) => Buffer.from(typeof value === "string" ? value : "", "base64url");
  if (jwk.kty === "RSA") {
    return new SshWriter().string("ssh-rsa").string(mpint(field(jwk.e))).string(mpint(field(jwk.n))).bytes();
  }
  if (jwk.kty === "OKP" && jwk.crv === "Ed25519") {
    return new SshWriter().string("ssh-ed25519").string(field(jwk.x)).bytes();
  }
  const curve = Object.entries(curves).find(([, { jwk: name }]) => name === jwk.crv)?.[0];
  if (jwk.kty !== "EC" || curve === undefined) {
    throw new Error(`unknown kind of key: ${jwk.crv ?? jwk.kty}`);
  }
  const point = Buffer.concat([Uint8Array.of(4), field(jwk.x), field(jwk.y)]);
  return new SshWriter().string(`ecdsa-sha2-${curve}`).string(curve).string(point).bytes();
}

/** An ecdsa signature in ssh's format (RFC 5656, section 3.1.2), from its two numbers. */
export function ecdsaSignature(pair: Uint8Array): Uint8Array<ArrayBuffer> {
  const half = pair.length / 2;
  return new SshWriter().string(mpint(pair.subarray(0, half))).string(mpint(pair.subarray(half))).bytes();
}

/** The key in a SEC 1 PEM (RFC 5915), with the public point from its ssh format. */
export function ecKeyOf(
  pem: string,
  { curve, blob }: { readonly curve: EcCurve; readonly blob: Uint8Array<ArrayBuffer> },
): JsonWebKey {
  const { jwk: crv, size } = curves[curve];
  const der = decodeBase64(pem.replace(/-----[^-]*-----|\s+/g, ""));
  const reader = new SshReader(blob);
  reader.string();
  reader.string();
  const point = reader.string();
  const number = der && privateNumber(der);
  if (!number || !point || point.length !== 1 + 2 * size) throw new Error("the key is damaged");
  const d = new Uint8Array(size);
  const digits = number.subarray(number.findIndex((byte) => byte !== 0));
  d.set(digits, size - digits.length);
  const text = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64url");
  return {
    kty: "EC",
    crv,
    d: text(d),
    x: text(point.subarray(1, 1 + size)),
    y: text(point.subarray(1 + size)),
  };
}

/** The first OCTET STRING of SEQUENCE { INTEGER 1, OCTET STRING … }. */
function privateNumber(der: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> | undefined {
  // The length of the outer sequence takes one byte, or more after a byte with their count.
  const start = 2 + ((der[1] ?? 0) > 0x80 ? (der[1] ?? 0) & 0x7f : 0) + 3;
  const length = der[start + 1] ?? 0;
  if (der[0] !== 0x30 || der[start] !== 4 || length > 0x7f) return undefined;
  return der.subarray(start + 2, start + 2 + length);
}

/** Strips leading zeros, but keeps one if the first bit would mean "negative" (RFC 4251, section 5). */
function mpint(bytes: Uint8Array): Uint8Array {
  const first = bytes.findIndex((byte) => byte !== 0);
  if (first < 0) return new Uint8Array();
  const digits = bytes.subarray(first);
  if ((digits[0] ?? 0) < 0x80) return digits;
  const padded = new Uint8Array(digits.length + 1);
  padded.set(digits, 1);
  return padded;
}

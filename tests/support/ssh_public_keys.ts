import { encodeBase64 } from "../../src/core/mod.ts";
import { decodePublicKey, type SshPublicKey } from "../../src/ssh/keys/ssh_keys.ts";
import { patternBytes } from "./pattern_bytes.ts";

/** Encodes the fields of an ssh message, each with its length (RFC 4251, section 5). */
export function sshStrings(...fields: (string | Uint8Array)[]): Uint8Array<ArrayBuffer> {
  const parts = fields.flatMap((field) => {
    const bytes = typeof field === "string" ? new TextEncoder().encode(field) : field;
    const length = new Uint8Array(4);
    new DataView(length.buffer).setUint32(0, bytes.length);
    return [...length, ...bytes];
  });
  return Uint8Array.from(parts);
}

/**
 * Key blobs that a reader accepts, although points may not be on their curves. The seed makes them distinct.
 */
export const blobOf = {
  ed25519: (seed: number) => sshStrings("ssh-ed25519", patternBytes(32, seed)),
  rsa: (seed: number) => sshStrings("ssh-rsa", Uint8Array.of(1, 0, 1), number(256, seed)),
  dsa: (seed: number) =>
    sshStrings("ssh-dss", number(128, seed), number(20, seed), number(128, seed), number(128, seed)),
  ecdsa256: (seed: number) => sshStrings("ecdsa-sha2-nistp256", "nistp256", point(32, seed)),
  ecdsa384: (seed: number) => sshStrings("ecdsa-sha2-nistp384", "nistp384", point(48, seed)),
  ecdsa521: (seed: number) => sshStrings("ecdsa-sha2-nistp521", "nistp521", point(66, seed)),
  securityKey: (seed: number) => sshStrings("sk-ssh-ed25519@openssh.com", patternBytes(32, seed), "ssh:"),
  ecdsaSecurityKey: (seed: number) =>
    sshStrings("sk-ecdsa-sha2-nistp256@openssh.com", "nistp256", point(32, seed), "ssh:"),
};

/** The name of one kind of blob. */
export type BlobKind = keyof typeof blobOf;

/** Returns a key of a kind. */
export function keyOf(kind: BlobKind, seed: number): SshPublicKey {
  return decodePublicKey(blobOf[kind](seed));
}

/** Returns `TYPE BASE64`, as in files. */
export function keyText(kind: BlobKind, seed: number): string {
  const { type, blob } = keyOf(kind, seed);
  return `${type} ${encodeBase64(blob)}`;
}

function number(size: number, seed: number): Uint8Array {
  const bytes = patternBytes(size + 1, seed);
  bytes[0] = 0;
  bytes[1] = 0x80 | (bytes[1] ?? 0);
  return bytes;
}

function point(size: number, seed: number): Uint8Array {
  return Uint8Array.of(4, ...patternBytes(2 * size, seed));
}

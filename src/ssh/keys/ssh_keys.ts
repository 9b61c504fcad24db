import { decodeBase64, encodeBase64, isSameBytes, plainText } from "../../core/mod.ts";
import { PosternError } from "../../words/mod.ts";
import { type Cursor, decoder } from "../../wire/mod.ts";

/** A public key in ssh's format (RFC 4253, section 6.6), its numbers without unneeded zeros. */
export interface SshPublicKey {
  /** For example `ssh-ed25519`, `ssh-rsa` or `ecdsa-sha2-nistp256`. */
  readonly type: string;
  /** Equal keys have equal bytes, regardless of their spelling. */
  readonly blob: Uint8Array<ArrayBuffer>;
}

/** Returns a field in its canonical form; throws for an invalid one. */
type Field = (bytes: Uint8Array<ArrayBuffer>) => Uint8Array<ArrayBuffer>;

interface KeyKind {
  /** OpenSSH's name for it in messages. */
  readonly label: string;
  readonly fields: readonly Field[];
  /** The signature algorithms (RFC 8332), if they differ from the key's type. */
  readonly algorithms?: readonly string[];
}

/** Excludes certificates: a host that has only certificates needs the openssh engine. */
const kinds: ReadonlyMap<string, KeyKind> = new Map<string, KeyKind>([
  ["ssh-ed25519", { label: "ED25519", fields: [exactly(32)] }],
  ["ecdsa-sha2-nistp256", { label: "ECDSA", fields: [word("nistp256"), point(32)] }],
  ["ecdsa-sha2-nistp384", { label: "ECDSA", fields: [word("nistp384"), point(48)] }],
  ["ecdsa-sha2-nistp521", { label: "ECDSA", fields: [word("nistp521"), point(66)] }],
  ["ssh-rsa", {
    label: "RSA",
    fields: [number, modulus],
    algorithms: ["rsa-sha2-512", "rsa-sha2-256", "ssh-rsa"],
  }],
  ["ssh-dss", { label: "DSA", fields: [number, number, number, number] }],
  ["sk-ssh-ed25519@openssh.com", { label: "ED25519-SK", fields: [exactly(32), anything] }],
  ["sk-ecdsa-sha2-nistp256@openssh.com", {
    label: "ECDSA-SK",
    fields: [word("nistp256"), point(32), anything],
  }],
]);

/** Reads exactly one public key; throws `protocol` for anything else. */
export function decodePublicKey(bytes: Uint8Array<ArrayBuffer>): SshPublicKey {
  const decoded = decodeKey(bytes);
  if (!decoded) throw unreadable("the key is truncated");
  if (decoded.used !== bytes.length) throw unreadable("unexpected bytes after the key");
  return decoded.value;
}

/** Reads a key in the format of files, `TYPE BASE64`; accepts `rsa-sha2-256` and `-512` for `ssh-rsa` too. */
export function parsePublicKey(type: string, base64: string): SshPublicKey {
  const bytes = decodePaddedBase64(base64);
  if (!bytes) throw unreadable("the key is not base64");
  const key = decodePublicKey(bytes);
  if (keyTypeOf(type) !== key.type) {
    throw unreadable(`the key's type is ${key.type}, but the line says ${shown(type)}`);
  }
  return key;
}

/** Formats a key for a file. */
export function formatPublicKey({ type, blob }: SshPublicKey): string {
  return `${type} ${encodeBase64(blob)}`;
}

export function isSameKey(one: SshPublicKey, other: SshPublicKey): boolean {
  return isSameBytes(one.blob, other.blob);
}

/** Formats the SHA-256 of a key's blob as ssh does: `SHA256:…`. */
export function formatFingerprint(sha256: Uint8Array): string {
  return `SHA256:${encodeBase64(sha256).replace(/=+$/, "")}`;
}

/** ssh's short name for a type in messages: `ED25519`, `RSA` and so on. */
export function keyLabel(type: string): string {
  return kinds.get(type)?.label ?? type;
}

/** The host key algorithms of a key type, best first. */
export function algorithmsOf(type: string): readonly string[] {
  return kinds.get(type)?.algorithms ?? [type];
}

/** The key type of a host key algorithm; undefined for certificates and unknown algorithms. */
export function keyTypeOf(algorithm: string): string | undefined {
  return [...kinds.keys()].find((type) => algorithmsOf(type).includes(algorithm));
}

/** Decodes padded base64 strictly; undefined for anything else. */
export function decodePaddedBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return undefined;
  return decodeBase64(text);
}

const decodeKey = decoder<SshPublicKey>((cursor) => {
  const name = field(cursor);
  const type = new TextDecoder().decode(name);
  const kind = kinds.get(type);
  if (!kind) throw unreadable(`unknown key type ${shown(type)}`);
  const fields = [name, ...kind.fields.map((read) => read(field(cursor)))];
  return { type, blob: joined(fields) };
});

function field(cursor: Cursor): Uint8Array<ArrayBuffer> {
  const length = cursor.u16() * 65536 + cursor.u16();
  if (length > mostField) throw unreadable(`a field claims ${length} bytes`);
  return cursor.take(length);
}

/** Room for OpenSSH's largest modulus, 16384 bits, and its sign. */
const mostField = 2049;

function joined(fields: readonly Uint8Array<ArrayBuffer>[]): Uint8Array<ArrayBuffer> {
  const blob = new Uint8Array(fields.reduce((sum, { length }) => sum + 4 + length, 0));
  const view = new DataView(blob.buffer);
  let at = 0;
  for (const bytes of fields) {
    view.setUint32(at, bytes.length);
    blob.set(bytes, at + 4);
    at += 4 + bytes.length;
  }
  return blob;
}

function anything(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return bytes;
}

function exactly(length: number): Field {
  return (bytes) => {
    if (bytes.length === length) return bytes;
    throw unreadable(`a field has ${bytes.length} bytes, not ${length}`);
  };
}

function word(expected: string): Field {
  return (bytes) => {
    if (new TextDecoder().decode(bytes) === expected) return bytes;
    throw unreadable(`the curve is not ${expected}`);
  };
}

/** RFC 5656, section 3.1; OpenSSH accepts the uncompressed form only, so each point has one form. */
function point(size: number): Field {
  return (bytes) => {
    if (bytes.length === 1 + 2 * size && bytes[0] === 4) return bytes;
    throw unreadable("the point is not in the uncompressed form");
  };
}

/** An mpint (RFC 4251, section 5). More leading zeros must not hide a key from a revocation. */
function number(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  if ((bytes[0] ?? 0) & 0x80) throw unreadable("a number is negative");
  let start = 0;
  while (start < bytes.length && bytes[start] === 0 && !((bytes[start + 1] ?? 0) & 0x80)) start++;
  return bytes.subarray(start);
}

/** OpenSSH always rejects RSA keys of fewer than 1024 bits. */
function modulus(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const value = number(bytes);
  const first = value[0] === 0 ? 1 : 0;
  const bits = (value.length - first) * 8 - (Math.clz32(value[first] ?? 0) - 24);
  if (bits < 1024) throw unreadable(`an RSA key of ${bits} bits is too short`);
  return value;
}

function shown(type: string): string {
  return `"${plainText(type, { limit: 64 })}"`;
}

function unreadable(why: string): PosternError {
  return new PosternError("protocol", `Cannot read the public key: ${why}`);
}

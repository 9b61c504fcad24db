import { decodeBase64, encodeBase64, isSameBytes, plainText } from "../../core/mod.ts";
import { PosternError } from "../../words/mod.ts";
import { type Cursor, decoder } from "../../wire/mod.ts";

/** A public key as the protocol carries it (RFC 4253, section 6.6), its numbers without needless zeros. */
export interface SshPublicKey {
  /** `ssh-ed25519`, `ssh-rsa`, `ecdsa-sha2-nistp256` and the like. */
  readonly type: string;
  /** Equal keys have equal bytes, however they were written. */
  readonly blob: Uint8Array<ArrayBuffer>;
}

/** Gives a field in its only form, or throws. */
type Field = (bytes: Uint8Array<ArrayBuffer>) => Uint8Array<ArrayBuffer>;

interface KeyKind {
  /** What OpenSSH calls it in its messages. */
  readonly label: string;
  readonly fields: readonly Field[];
  /** The signature algorithms of RFC 8332 where the key's own name is not the one to ask for. */
  readonly algorithms?: readonly string[];
}

/** Certificates are not among them: a host that has only these is for the other engine. */
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

/** Reads the bytes of one public key; throws `protocol` for what is not one, or for more than one. */
export function decodePublicKey(bytes: Uint8Array<ArrayBuffer>): SshPublicKey {
  const decoded = decodeKey(bytes);
  if (!decoded) throw unreadable("it ends too early");
  if (decoded.used !== bytes.length) throw unreadable("more bytes follow it");
  return decoded.value;
}

/** Reads a key as files have it, `TYPE BASE64`; `rsa-sha2-256` and `-512` stand there for `ssh-rsa` too. */
export function parsePublicKey(type: string, base64: string): SshPublicKey {
  const bytes = decodePaddedBase64(base64);
  if (!bytes) throw unreadable("it is not base64");
  const key = decodePublicKey(bytes);
  if (keyTypeOf(type) !== key.type) throw unreadable(`its type is ${key.type}, the line says ${shown(type)}`);
  return key;
}

/** Writes a key as files have it. */
export function formatPublicKey({ type, blob }: SshPublicKey): string {
  return `${type} ${encodeBase64(blob)}`;
}

/** Whether two keys are the same one. */
export function isSameKey(one: SshPublicKey, other: SshPublicKey): boolean {
  return isSameBytes(one.blob, other.blob);
}

/** `SHA256:…` as ssh shows it, of the SHA-256 of a key's blob. */
export function formatFingerprint(sha256: Uint8Array): string {
  return `SHA256:${encodeBase64(sha256).replace(/=+$/, "")}`;
}

/** `ED25519`, `RSA` and so on: what ssh calls a type in front of people. */
export function keyLabel(type: string): string {
  return kinds.get(type)?.label ?? type;
}

/** The host key algorithms that a type of key can sign with, best first. */
export function algorithmsOf(type: string): readonly string[] {
  return kinds.get(type)?.algorithms ?? [type];
}

/** The type of key that a host key algorithm signs with; undefined for certificates and what is not known. */
export function keyTypeOf(algorithm: string): string | undefined {
  return [...kinds.keys()].find((type) => algorithmsOf(type).includes(algorithm));
}

/** Reads padded base64 and nothing else; undefined where it is not. */
export function decodePaddedBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return undefined;
  return decodeBase64(text);
}

const decodeKey = decoder<SshPublicKey>((cursor) => {
  const name = field(cursor);
  const type = new TextDecoder().decode(name);
  const kind = kinds.get(type);
  if (!kind) throw unreadable(`keys of type ${shown(type)} are not known here`);
  const fields = [name, ...kind.fields.map((read) => read(field(cursor)))];
  return { type, blob: joined(fields) };
});

function field(cursor: Cursor): Uint8Array<ArrayBuffer> {
  const length = cursor.u16() * 65536 + cursor.u16();
  if (length > mostField) throw unreadable(`a field claims ${length} bytes`);
  return cursor.take(length);
}

/** Room for the largest modulus that OpenSSH takes, 16384 bits, and its sign. */
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

/** RFC 5656, section 3.1; OpenSSH takes the uncompressed form only, and so there is one form. */
function point(size: number): Field {
  return (bytes) => {
    if (bytes.length === 1 + 2 * size && bytes[0] === 4) return bytes;
    throw unreadable("the point is not in the uncompressed form");
  };
}

/** An mpint of RFC 4251, section 5. A key must not get past a revocation by being written with more zeros. */
function number(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  if ((bytes[0] ?? 0) & 0x80) throw unreadable("a number is negative");
  let start = 0;
  while (start < bytes.length && bytes[start] === 0 && !((bytes[start + 1] ?? 0) & 0x80)) start++;
  return bytes.subarray(start);
}

/** OpenSSH refuses RSA keys of fewer than 1024 bits everywhere. */
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

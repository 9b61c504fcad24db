import { decodeBase64 } from "../../core/mod.ts";
import { Buffer } from "node:buffer";
import type { KeyObject } from "node:crypto";
import { PosternError } from "../../words/mod.ts";
import { type EcCurve, ecdsaSignature, ecKeyOf, publicBlob } from "./ssh_key_forms.ts";
import { SshReader, SshWriter } from "../session/ssh_writer.ts";

/** A private key that can sign. */
export interface PrivateKey {
  readonly blob: Uint8Array<ArrayBuffer>;
  /** Signs, in ssh's format: the algorithm's name and the bytes. */
  sign(data: Uint8Array, algorithm: string): Uint8Array<ArrayBuffer>;
}

/** What a private key file reveals without its passphrase. */
export interface PrivateKeyText {
  readonly isEncrypted: boolean;
  /** The public part, if it is readable without a passphrase. */
  readonly blob?: Uint8Array<ArrayBuffer>;
}

/** Inspects a private key file without opening it; undefined when it is not one. */
export function inspectPrivateKey(text: string): PrivateKeyText | undefined {
  const kind = kindOf(text);
  if (kind === undefined) return undefined;
  if (kind !== "OPENSSH") {
    return { isEncrypted: kind === "ENCRYPTED" || /^Proc-Type: *4, *ENCRYPTED/m.test(text) };
  }
  const bytes = decodeBase64(bodyOf(text));
  if (!bytes || new TextDecoder().decode(bytes.subarray(0, magic.length)) !== magic) return undefined;
  const reader = new SshReader(bytes.subarray(magic.length));
  const cipher = reader.text();
  reader.string();
  reader.string();
  reader.u32();
  const blob = reader.string();
  if (cipher === undefined || !blob) return undefined;
  return { isEncrypted: cipher !== "none", blob };
}

/** Opens a private key in OpenSSH's format, PEM or PKCS #8; rejects with `auth` for a wrong passphrase. */
export async function openPrivateKey(
  text: string,
  { path, passphrase }: { readonly path: string; readonly passphrase?: string },
): Promise<PrivateKey> {
  const { sign } = await import("node:crypto");
  let key: KeyObject;
  let blob: Uint8Array<ArrayBuffer>;
  try {
    key = await (kindOf(text) === "OPENSSH" ? fromOpenSsh(text, passphrase) : fromPem(text, passphrase));
    blob = publicBlob(key);
  } catch (cause) {
    throw new PosternError("auth", `Cannot use the key ${path}`, {
      cause,
      hint: passphrase === undefined ? `add it to the agent: ssh-add ${path}` : "check the passphrase",
    });
  }
  return {
    blob,
    sign(data, algorithm) {
      const bytes = key.asymmetricKeyType === "ec"
        ? ecdsaSignature(sign(hashOf(algorithm), data, { key, dsaEncoding: "ieee-p1363" }))
        : sign(hashOf(algorithm), data, key);
      return new SshWriter().string(algorithm).string(bytes).bytes();
    },
  };
}

function kindOf(text: string): string | undefined {
  return /-----BEGIN ([A-Z ]*)PRIVATE KEY-----/.exec(text)?.[1]?.trim();
}

function bodyOf(text: string): string {
  return text.replace(/-----[^-]*-----/g, "").replace(/^[A-Za-z-]+:.*$/gm, "").replace(/\s+/g, "");
}

function hashOf(algorithm: string): string | null {
  return hashes[algorithm] ?? null;
}

const hashes: Readonly<Record<string, string>> = {
  "ssh-rsa": "sha1",
  "rsa-sha2-256": "sha256",
  "rsa-sha2-512": "sha512",
  "ecdsa-sha2-nistp256": "sha256",
  "ecdsa-sha2-nistp384": "sha384",
  "ecdsa-sha2-nistp521": "sha512",
};

const magic = "openssh-key-v1\0";

/** Opens OpenSSH's container with ssh2; the system's crypto then reads the key. */
async function fromOpenSsh(text: string, passphrase: string | undefined): Promise<KeyObject> {
  const { default: { parseKey } }: { default: KeyParser } = await import("ssh2/lib/protocol/keyParser.js");
  const { createPrivateKey } = await import("node:crypto");
  const parsed = parseKey(text, passphrase);
  const key = Array.isArray(parsed) ? parsed[0] : parsed;
  if (!key || key instanceof Error) throw key ?? new Error("the file has no key");
  const curve = /^ecdsa-sha2-(nistp\d+)$/.exec(key.type)?.[1];
  if (curve === undefined) return createPrivateKey(key.getPrivatePEM());
  // ssh2's PEM keeps a leading zero of the number, which strict readers reject.
  const jwk = ecKeyOf(key.getPrivatePEM(), {
    curve: curve as EcCurve,
    blob: Uint8Array.from(key.getPublicSSH()),
  });
  return createPrivateKey({ key: jwk, format: "jwk" });
}

async function fromPem(text: string, passphrase: string | undefined): Promise<KeyObject> {
  const { createDecipheriv, createHash, createPrivateKey } = await import("node:crypto");
  const parts = /^DEK-Info: *AES-(128|192|256)-CBC, *([0-9A-F]{32})/m.exec(text);
  if (!/^Proc-Type: *4, *ENCRYPTED/m.test(text)) {
    return createPrivateKey({ key: text, format: "pem", ...(passphrase !== undefined && { passphrase }) });
  }
  // RFC 1421 as OpenSSL implements it: repeated hashing of passphrase and salt gives the key.
  const [, bits, salt] = parts ?? [];
  const body = decodeBase64(bodyOf(text));
  if (bits === undefined || salt === undefined || !body) throw new Error("unknown encryption");
  const iv = Buffer.from(salt, "hex");
  const length = Number(bits) / 8;
  let secret: Buffer = Buffer.alloc(0);
  for (let last: Buffer = Buffer.alloc(0); secret.length < length; secret = Buffer.concat([secret, last])) {
    last = createHash("md5").update(last).update(passphrase ?? "").update(iv.subarray(0, 8)).digest();
  }
  const cipher = createDecipheriv(`aes-${bits}-cbc`, secret.subarray(0, length), iv);
  const der = Buffer.concat([cipher.update(body), cipher.final()]);
  return createPrivateKey({ key: der, format: "der", type: kindOf(text) === "EC" ? "sec1" : "pkcs1" });
}

/** The part of ssh2's public key parser that we use. */
interface KeyParser {
  parseKey(text: string, passphrase?: string): ParsedKey | ParsedKey[] | Error;
}

interface ParsedKey {
  readonly type: string;
  getPrivatePEM(): string;
  getPublicSSH(): Uint8Array;
}

import { Buffer } from "node:buffer";
import { PosternError } from "../../core/mod.ts";
import { blobType, fromBase64 } from "./ssh_certificate.ts";
import { SshReader, SshWriter } from "./ssh_writer.ts";

/** A private key that can sign. */
export interface PrivateKey {
  readonly blob: Uint8Array<ArrayBuffer>;
  /** A signature as ssh writes it: the algorithm's name and the bytes. */
  sign(data: Uint8Array, algorithm: string): Uint8Array<ArrayBuffer>;
}

/** What is known of a private key file without a passphrase. */
export interface PrivateKeyText {
  readonly isEncrypted: boolean;
  /** The public part, where it is readable without a passphrase. */
  readonly blob?: Uint8Array<ArrayBuffer>;
}

/** Looks at a private key file without opening it; undefined when it is none. */
export function inspectPrivateKey(text: string): PrivateKeyText | undefined {
  const kind = /-----BEGIN ([A-Z ]*)PRIVATE KEY-----/.exec(text)?.[1]?.trim();
  if (kind === undefined) return undefined;
  if (kind !== "OPENSSH") {
    return { isEncrypted: kind === "ENCRYPTED" || /^Proc-Type: *4, *ENCRYPTED/m.test(text) };
  }
  const body = text.replace(/-----[^-]*-----/g, "").replace(/\s+/g, "");
  const bytes = fromBase64(body);
  const magic = "openssh-key-v1\0";
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

/** Opens a private key: OpenSSH's own format, PEM and PKCS #8. A wrong passphrase is `auth`. */
export async function openPrivateKey(
  text: string,
  { path, passphrase }: { readonly path: string; readonly passphrase?: string },
): Promise<PrivateKey> {
  const { default: { parseKey } }: { default: KeyParser } = await import("ssh2/lib/protocol/keyParser.js");
  const { default: { convertSignature } }: { default: SignatureConverter } = await import(
    "ssh2/lib/protocol/utils.js"
  );
  const parsed = parseKey(await withoutPkcs8(text, { path, passphrase }), passphrase);
  const key = Array.isArray(parsed) ? parsed[0] : parsed;
  if (!key || key instanceof Error || !key.isPrivateKey()) {
    throw unusable(path, key instanceof Error ? key : undefined, passphrase !== undefined);
  }
  const blob = Uint8Array.from(key.getPublicSSH());
  return {
    blob,
    sign(data, algorithm) {
      const hash = algorithm === "rsa-sha2-256"
        ? "sha256"
        : algorithm === "rsa-sha2-512"
        ? "sha512"
        : undefined;
      const signature = key.sign(Buffer.from(data), hash);
      if (signature instanceof Error) throw unusable(path, signature, false);
      const bytes = convertSignature(signature, blobType(blob) ?? "");
      if (!bytes) throw unusable(path, undefined, false);
      return new SshWriter().string(algorithm).string(bytes).bytes();
    },
  };
}

/** ssh2 knows PKCS #1 and SEC 1, node's crypto knows all three. */
async function withoutPkcs8(
  text: string,
  { path, passphrase }: { readonly path: string; readonly passphrase: string | undefined },
): Promise<string> {
  if (!/-----BEGIN (ENCRYPTED )?PRIVATE KEY-----/.test(text)) return text;
  const { createPrivateKey } = await import("node:crypto");
  try {
    const key = createPrivateKey({
      key: text,
      format: "pem",
      ...(passphrase !== undefined && { passphrase }),
    });
    const type = key.asymmetricKeyType === "rsa" ? "pkcs1" : "sec1";
    return String(key.export({ type, format: "pem" }));
  } catch (error) {
    throw unusable(path, error, passphrase !== undefined);
  }
}

function unusable(path: string, cause: unknown, hadPassphrase: boolean): PosternError {
  return new PosternError("auth", `Cannot use the key ${path}`, {
    ...(cause !== undefined && { cause }),
    hint: hadPassphrase ? "check the passphrase" : `add it to the agent: ssh-add ${path}`,
  });
}

/** The part of ssh2's public key parser that is used here. */
interface KeyParser {
  parseKey(text: string, passphrase?: string): ParsedKey | ParsedKey[] | Error;
}

interface ParsedKey {
  isPrivateKey(): boolean;
  getPublicSSH(): Uint8Array;
  sign(data: Uint8Array, hash: string | undefined): Buffer | Error;
}

interface SignatureConverter {
  convertSignature(signature: Buffer, type: string): Uint8Array | false | undefined;
}

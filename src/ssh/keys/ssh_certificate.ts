import { decodeBase64 } from "../../core/mod.ts";
import { SshReader, SshWriter } from "../session/ssh_writer.ts";

const suffix = "-cert-v01@openssh.com";

/** The type at the start of a public key or certificate. */
export function blobType(blob: Uint8Array<ArrayBuffer>): string | undefined {
  return new SshReader(blob).text();
}

export function isCertificateType(type: string): boolean {
  return type.endsWith(suffix);
}

/** The type of a certificate's key; other types stay as they are. */
export function plainType(type: string): string {
  return isCertificateType(type) ? type.slice(0, -suffix.length) : type;
}

/** The public key inside a certificate (PROTOCOL.certkeys); undefined for unknown kinds. */
export function keyOfCertificate(blob: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> | undefined {
  const reader = new SshReader(blob);
  const type = reader.text();
  const fields = type === undefined ? undefined : fieldsOf[plainType(type)];
  // A nonce precedes the key.
  if (type === undefined || !isCertificateType(type) || fields === undefined || !reader.string()) {
    return undefined;
  }
  const writer = new SshWriter().string(plainType(type));
  for (let field = 0; field < fields; field++) {
    const value = reader.string();
    if (!value) return undefined;
    writer.string(value);
  }
  return writer.bytes();
}

const fieldsOf: Readonly<Record<string, number>> = {
  "ssh-ed25519": 1,
  "ssh-rsa": 2,
  "ecdsa-sha2-nistp256": 2,
  "ecdsa-sha2-nistp384": 2,
  "ecdsa-sha2-nistp521": 2,
  "sk-ssh-ed25519@openssh.com": 2,
  "sk-ecdsa-sha2-nistp256@openssh.com": 3,
};

/** The key or certificate in the first line of a `.pub` file. */
export function readPublicLine(text: string): Uint8Array<ArrayBuffer> | undefined {
  const [type = "", base64 = ""] = text.trim().split(/\s+/);
  if (!/^[A-Za-z0-9+/]+=*$/.test(base64)) return undefined;
  const blob = decodeBase64(base64);
  return blob && blobType(blob) === type ? blob : undefined;
}

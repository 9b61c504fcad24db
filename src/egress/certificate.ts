import { decodeBase64 } from "../core/mod.ts";
import type { X509Certificate } from "node:crypto";

/** The facts that messages mention about a certificate. */
export interface Certificate {
  /** The subject name on one line. */
  readonly subject: string;
  /** Why clients may not trust the certificate. Each text continues a sentence that begins with its name. */
  doubts(now: Date): string[];
}

/** Reads a certificate in base64; undefined when it is malformed. */
export async function inspectCertificate(base64: string): Promise<Certificate | undefined> {
  const bytes = decodeBase64(base64);
  if (!bytes || !isOneSequence(bytes)) return undefined;
  const { X509Certificate } = await import("node:crypto");
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(bytes);
  } catch {
    // The error names DER tags, which do not help the user.
    return undefined;
  }
  const subject = subjectOf(certificate);
  return { subject, doubts: (now) => doubtsOf(certificate, now) };
}

/** Whether the bytes are exactly one DER sequence (X.690, section 8.1.3). */
function isOneSequence(bytes: Uint8Array): boolean {
  if (bytes[0] !== 0x30) return false;
  const first = bytes[1] ?? 0;
  if (first < 0x80) return bytes.length === 2 + first;
  const count = first - 0x80;
  if (count < 1 || count > 4) return false;
  const length = bytes.subarray(2, 2 + count).reduce((sum, byte) => sum * 256 + byte, 0);
  return bytes.length === 2 + count + length;
}

function subjectOf({ subject }: X509Certificate): string {
  // Prefer the common name; without one, use the whole name on one line.
  const name = /^CN=(.*)$/m.exec(subject)?.[1] ?? subject.trim().split("\n").join(", ");
  return JSON.stringify(name.slice(0, 100));
}

function doubtsOf(certificate: X509Certificate, now: Date): string[] {
  const doubts: string[] = [];
  if (Date.parse(certificate.validTo) < now.getTime()) doubts.push(`expired on ${certificate.validTo}`);
  if (Date.parse(certificate.validFrom) > now.getTime()) {
    doubts.push(`is not valid before ${certificate.validFrom}`);
  }
  if (!certificate.ca) doubts.push("is not a CA certificate: clients do not trust what it signed");
  return doubts;
}

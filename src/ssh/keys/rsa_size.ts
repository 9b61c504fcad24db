import { blobType, keyOfCertificate, plainType } from "./ssh_certificate.ts";
import { SshReader } from "../session/ssh_writer.ts";

/** OpenSSH's default for RequiredRSASize. */
const usualSize = 1024;

/** Returns the problem of an RSA key, or of a certificate for one, that is shorter than RequiredRSASize. */
export function rsaSizeProblem(
  blob: Uint8Array<ArrayBuffer>,
  { requiredRsaSize = usualSize }: { readonly requiredRsaSize?: number },
): string | undefined {
  const bits = rsaBits(blob);
  return bits === undefined || bits >= requiredRsaSize
    ? undefined
    : `the key has ${bits} bits, but RequiredRSASize is ${requiredRsaSize}`;
}

/** The length in bits of an RSA modulus; undefined for keys of other kinds. */
export function rsaBits(blob: Uint8Array<ArrayBuffer>): number | undefined {
  const type = blobType(blob) ?? "";
  if (plainType(type) !== "ssh-rsa") return undefined;
  const reader = new SshReader(type === "ssh-rsa" ? blob : keyOfCertificate(blob) ?? new Uint8Array());
  reader.string();
  reader.string();
  const modulus = reader.string() ?? new Uint8Array();
  const first = modulus.findIndex((byte) => byte !== 0);
  return first < 0 ? 0 : (modulus.length - first) * 8 - (Math.clz32(modulus[first] ?? 0) - 24);
}

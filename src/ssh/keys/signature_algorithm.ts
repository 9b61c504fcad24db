import { wildcardPattern } from "../../core/mod.ts";
import { isCertificateType, plainType } from "./ssh_certificate.ts";

/** The signature algorithms that each side accepts. */
export interface SignatureRules {
  /** PubkeyAcceptedAlgorithms, if set. */
  readonly accepted: readonly string[] | undefined;
  /** The algorithms that the server announces (RFC 8308, section 3.1), if it does. */
  readonly server: readonly string[] | undefined;
}

/** Returns the algorithm for a key or certificate; undefined when the two sides have none in common. */
export function signatureAlgorithm(type: string, { accepted, server }: SignatureRules): string | undefined {
  const plain = plainType(type);
  const suffix = isCertificateType(type) ? type.slice(plain.length) : "";
  const known = plain === "ssh-rsa" ? rsaAlgorithms : [plain];
  // SHA-1 only if the user configures it by name.
  const usable = accepted === undefined
    ? known.filter((name) => name !== "ssh-rsa")
    : accepted.flatMap((wanted) => known.filter((name) => matches(wanted, `${name}${suffix}`)));
  const found = plain === "ssh-rsa" ? ofRsa(usable, server) : usable[0];
  return found === undefined ? undefined : `${found}${suffix}`;
}

/** RFC 8332: a server that announces no algorithms may support only SHA-1; OpenSSH then tries only SHA-1. */
function ofRsa(usable: readonly string[], server: readonly string[] | undefined): string | undefined {
  if (server) return usable.find((name) => server.includes(name));
  return usable.includes("ssh-rsa") ? "ssh-rsa" : usable[0];
}

const rsaAlgorithms = ["rsa-sha2-512", "rsa-sha2-256", "ssh-rsa"];

/** Matches algorithm names against `*` and `?`, as in ssh's lists. */
function matches(pattern: string, name: string): boolean {
  if (!/[*?]/.test(pattern)) return pattern === name;
  return wildcardPattern(pattern).test(name);
}

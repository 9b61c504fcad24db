import { wildcardPattern } from "../../core/mod.ts";
import { isCertificateType, plainType } from "./ssh_certificate.ts";

/** What both sides say of the algorithms that sign-ins are signed with. */
export interface SignatureRules {
  /** PubkeyAcceptedAlgorithms, where it is given. */
  readonly accepted: readonly string[] | undefined;
  /** What the server says that it takes (RFC 8308, section 3.1), where it says so. */
  readonly server: readonly string[] | undefined;
}

/** The algorithm to offer a key or certificate with; undefined where the two sides have none in common. */
export function signatureAlgorithm(type: string, { accepted, server }: SignatureRules): string | undefined {
  const plain = plainType(type);
  const suffix = isCertificateType(type) ? type.slice(plain.length) : "";
  const known = plain === "ssh-rsa" ? rsaAlgorithms : [plain];
  // SHA-1 only where a person asks for it by name.
  const usable = accepted === undefined
    ? known.filter((name) => name !== "ssh-rsa")
    : accepted.flatMap((wanted) => known.filter((name) => matches(wanted, `${name}${suffix}`)));
  const found = plain === "ssh-rsa" ? ofRsa(usable, server) : usable[0];
  return found === undefined ? undefined : `${found}${suffix}`;
}

/** RFC 8332: a server that does not say what it takes may know nothing but SHA-1; OpenSSH then tries only that. */
function ofRsa(usable: readonly string[], server: readonly string[] | undefined): string | undefined {
  if (server) return usable.find((name) => server.includes(name));
  return usable.includes("ssh-rsa") ? "ssh-rsa" : usable[0];
}

const rsaAlgorithms = ["rsa-sha2-512", "rsa-sha2-256", "ssh-rsa"];

/** Names of algorithms, with `*` and `?` as ssh's lists have them. */
function matches(pattern: string, name: string): boolean {
  if (!/[*?]/.test(pattern)) return pattern === name;
  return wildcardPattern(pattern).test(name);
}

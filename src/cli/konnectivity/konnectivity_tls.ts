import type { Log } from "../../core/mod.ts";
import { PosternError } from "../../words/mod.ts";

/** The names that Go has for versions of TLS. */
export const tlsVersions = ["VersionTLS10", "VersionTLS11", "VersionTLS12", "VersionTLS13"] as const;

/** What our TLS 1.2 has; 1.3 has suites of its own, which nobody can choose. */
const ourSuites = [
  "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
  "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
  "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
  "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
  "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
  "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
];

/**
 * The lowest version of TLS that is asked for, where it is more than usual. A list of suites cannot be obeyed by the
 * runtime: where it would leave out some that are used, the log says so.
 */
export function narrowedTls(
  { version, suites }: { readonly version: typeof tlsVersions[number]; readonly suites: string | undefined },
  log: Log,
): "TLSv1.3" | undefined {
  if (version === "VersionTLS10" || version === "VersionTLS11") {
    log.warn("tls.version", {
      asked: version,
      used: "VersionTLS12",
      reason: "older ones are not spoken here",
    });
  }
  const asked = (suites ?? "").split(",").map((name) => name.trim()).filter((name) => name !== "");
  const unknown = asked.find((name) => !/^TLS_[A-Z0-9_]+$/.test(name));
  if (unknown !== undefined) {
    throw new PosternError("usage", `Cannot use ${JSON.stringify(unknown)} as a cipher suite`, {
      hint: `write names as ${ourSuites[0]}`,
    });
  }
  if (version === "VersionTLS13") return "TLSv1.3";
  const besides = asked.length === 0
    ? []
    : ourSuites.filter((name) => !asked.includes(name) && !asked.includes(name.replace(/_SHA256$/, "")));
  if (besides.length > 0) {
    log.warn("tls.suites", {
      reason: "the runtime cannot leave out suites; --tls-min-version=VersionTLS13 leaves out TLS 1.2",
      besides: besides.join(","),
    });
  }
  return undefined;
}

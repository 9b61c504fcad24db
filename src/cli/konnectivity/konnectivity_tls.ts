import type { Log } from "../../core/mod.ts";
import { PosternError } from "../../words/mod.ts";

/** Go's names of TLS versions. */
export const tlsVersions = ["VersionTLS10", "VersionTLS11", "VersionTLS12", "VersionTLS13"] as const;

/** The cipher suites of TLS 1.2 in the runtime. TLS 1.3 has other suites, which are not configurable. */
const ourSuites = [
  "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
  "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
  "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
  "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
  "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
  "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
];

/**
 * The minimum TLS version, if it is above the default of 1.2. The runtime cannot restrict cipher suites: postern logs
 * a warning when the list omits suites that the runtime uses.
 */
export function narrowedTls(
  { version, suites }: { readonly version: typeof tlsVersions[number]; readonly suites: string | undefined },
  log: Log,
): "TLSv1.3" | undefined {
  if (version === "VersionTLS10" || version === "VersionTLS11") {
    log.warn("tls.version", {
      asked: version,
      used: "VersionTLS12",
      reason: "postern does not support older versions",
    });
  }
  const asked = (suites ?? "").split(",").map((name) => name.trim()).filter((name) => name !== "");
  const unknown = asked.find((name) => !/^TLS_[A-Z0-9_]+$/.test(name));
  if (unknown !== undefined) {
    throw new PosternError("usage", `Cannot use ${JSON.stringify(unknown)} as a cipher suite: invalid name`, {
      hint: `use names such as ${ourSuites[0]}`,
    });
  }
  if (version === "VersionTLS13") return "TLSv1.3";
  const unwanted = asked.length === 0
    ? []
    : ourSuites.filter((name) => !asked.includes(name) && !asked.includes(name.replace(/_SHA256$/, "")));
  if (unwanted.length > 0) {
    log.warn("tls.suites", {
      reason: "the runtime cannot disable cipher suites; --tls-min-version=VersionTLS13 disables TLS 1.2",
      unwanted: unwanted.join(","),
    });
  }
  return undefined;
}

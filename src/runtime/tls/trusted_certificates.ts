import { variable } from "../programs/environment.ts";
import { fileError } from "../files/file_error.ts";

let system: readonly string[] | undefined;
const bundles = new Map<string, string>();

/**
 * The system's store on Linux distributions (Debian, Fedora, SUSE, Alpine): the first existing file counts.
 */
const linuxStores: readonly string[] = [
  "/etc/ssl/certs/ca-certificates.crt",
  "/etc/pki/tls/certs/ca-bundle.crt",
  "/etc/ssl/ca-bundle.pem",
  "/etc/ssl/cert.pem",
];

/** Returns the PEM certificates to trust in addition to Deno's: the system's store and SSL_CERT_FILE. */
export async function trustedCertificates(): Promise<readonly string[]> {
  system ??= Deno.build.os === "linux" ? linuxStore() : await platformStore();
  const path = sslCertFile();
  if (!path) return system;
  let bundle = bundles.get(path);
  if (bundle === undefined) bundles.set(path, bundle = readBundle(path));
  return [...system, bundle];
}

function linuxStore(): readonly string[] {
  for (const path of linuxStores) {
    try {
      return [Deno.readTextFileSync(path)];
    } catch (error) {
      if (!isAbsent(error)) throw fileError(error, `read the system's certificates in "${path}"`);
    }
  }
  return [];
}

/** Reads the platform's store; empty without the whole of `--allow-sys`, which Deno 2.9 requires for it. */
async function platformStore(): Promise<readonly string[]> {
  const tls: { getCACertificates?: (store: "system") => string[] } = await import("node:tls");
  try {
    return tls.getCACertificates?.("system") ?? [];
  } catch (error) {
    if (isAbsent(error)) return [];
    throw error;
  }
}

function sslCertFile(): string | undefined {
  try {
    return variable("SSL_CERT_FILE");
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}

/** Whether a store is missing or unreadable; Deno's certificates are always trusted. */
function isAbsent(error: unknown): boolean {
  return error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotCapable;
}

function readBundle(path: string): string {
  try {
    return Deno.readTextFileSync(path);
  } catch (error) {
    throw fileError(error, `read SSL_CERT_FILE "${path}"`);
  }
}

import { fileError } from "./file_error.ts";

let system: readonly string[] | undefined;
const bundles = new Map<string, string>();

/**
 * The PEM certificates to trust besides the ones that Deno brings: the system's store and SSL_CERT_FILE. Deno 2.9
 * asks for the whole of `--allow-sys` to tell the system's; without it they are left out.
 */
export async function trustedCertificates(): Promise<readonly string[]> {
  system ??= await systemCertificates();
  const path = Deno.env.get("SSL_CERT_FILE");
  if (!path) return system;
  let bundle = bundles.get(path);
  if (bundle === undefined) bundles.set(path, bundle = readBundle(path));
  return [...system, bundle];
}

async function systemCertificates(): Promise<readonly string[]> {
  const tls: { getCACertificates?: (store: "system") => string[] } = await import("node:tls");
  try {
    return tls.getCACertificates?.("system") ?? [];
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) return [];
    throw error;
  }
}

function readBundle(path: string): string {
  try {
    return Deno.readTextFileSync(path);
  } catch (error) {
    throw fileError(error, `read "${path}", which SSL_CERT_FILE names`);
  }
}

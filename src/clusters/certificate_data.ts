/** Maximum length of a text with certificates, in characters. */
const longest = 1_000_000;

/**
 * Certificates in the base64 form of a kubeconfig, from PEM or base64-encoded PEM; undefined if there are
 * none.
 */
export function certificateData(written: unknown): string | undefined {
  if (typeof written !== "string" || written.length > longest) return undefined;
  const blocks = written.match(new RegExp(pemOf("CERTIFICATE"), "g"));
  if (blocks) return btoa(`${blocks.join("\n")}\n`);
  const data = written.replaceAll(/\s/g, "");
  return isPemIn(data, "CERTIFICATE") ? data : undefined;
}

/** Whether a text is base64-encoded PEM of a kind. */
export function isPemIn(data: string, kind: string): boolean {
  if (data.length > longest || !/^[A-Za-z0-9+/]+={0,2}$/.test(data)) return false;
  try {
    return new RegExp(pemOf(kind)).test(atob(data));
  } catch {
    // The length is not valid base64.
    return false;
  }
}

function pemOf(kind: string): string {
  return `-----BEGIN ${kind}-----[A-Za-z0-9+/=\\s]+-----END ${kind}-----`;
}

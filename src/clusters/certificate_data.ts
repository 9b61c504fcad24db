/** The most characters that somebody's certificates may have. */
const longest = 1_000_000;

/** Certificates in base64, as a kubeconfig has them, of PEM or of base64 of it; undefined where there are none. */
export function certificateData(written: unknown): string | undefined {
  if (typeof written !== "string" || written.length > longest) return undefined;
  const blocks = written.match(new RegExp(pemOf("CERTIFICATE"), "g"));
  if (blocks) return btoa(`${blocks.join("\n")}\n`);
  const data = written.replaceAll(/\s/g, "");
  return isPemIn(data, "CERTIFICATE") ? data : undefined;
}

/** Whether a text is the base64 form of PEM blocks of a kind. */
export function isPemIn(data: string, kind: string): boolean {
  if (data.length > longest || !/^[A-Za-z0-9+/]+={0,2}$/.test(data)) return false;
  try {
    return new RegExp(pemOf(kind)).test(atob(data));
  } catch {
    // Not a whole number of bytes.
    return false;
  }
}

function pemOf(kind: string): string {
  return `-----BEGIN ${kind}-----[A-Za-z0-9+/=\\s]+-----END ${kind}-----`;
}

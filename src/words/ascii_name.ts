/**
 * Converts an international name to ASCII as the URL standard (UTS 46) and browsers do; undefined for an invalid name.
 * An ASCII name stays unchanged.
 */
export function asciiName(name: string): string | undefined {
  if (!/[\u0080-\uffff]/.test(name)) return name;
  // These characters end or split the host of a URL: the parser would see a different name.
  if (/[\s/?#@:\\%]/.test(name)) return undefined;
  return URL.parse(`http://${name}`)?.hostname;
}

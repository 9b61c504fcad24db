/**
 * What the URL standard makes of an international name (UTS 46), as browsers do; undefined for what is none. A name that
 * is ASCII already stays as it is.
 */
export function asciiName(name: string): string | undefined {
  if (!/[\u0080-\uffff]/.test(name)) return name;
  // These end or split the host of a URL, so the parser would look at something else than the name.
  if (/[\s/?#@:\\%]/.test(name)) return undefined;
  return URL.parse(`http://${name}`)?.hostname;
}

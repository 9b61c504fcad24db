/** The origin of a request, from the text of its URL: the input of every matcher. */
export interface RequestOrigin {
  /** In lowercase. */
  readonly scheme: string;
  /** As typed, without brackets. */
  readonly host: string;
  readonly isBracketed: boolean;
  /** As typed; empty if the URL has none. */
  readonly port: string;
}

/** Splits a URL without changing its host; undefined when it has no host. */
export function requestOrigin(url: string): RequestOrigin | undefined {
  const [, scheme, authority] = /^([A-Za-z][A-Za-z0-9+.-]*):\/\/([^/?#\\\s]+)(?=[/?#\\]|$)/.exec(url) ?? [];
  if (scheme === undefined || authority === undefined) return undefined;
  const place = authority.slice(authority.lastIndexOf("@") + 1);
  const [, bracketed, plain, port = ""] = /^(?:\[([^[\]]*)\]|([^:]*))(?::([0-9]*))?$/.exec(place) ?? [];
  const host = bracketed ?? plain;
  if (host === undefined || host === "") return undefined;
  return { scheme: scheme.toLowerCase(), host, isBracketed: bracketed !== undefined, port };
}

/** Converts a name to punycode; undefined when it is invalid. */
export function asciiHost(host: string): string | undefined {
  if (/^[\0-\x7f]*$/.test(host)) return host;
  return URL.parse(`http://${host}/`)?.hostname;
}

/** The port of a request, or the default port of its scheme; empty for an unknown scheme. */
export function portOf({ scheme, port }: RequestOrigin): string {
  return port !== "" ? port : { http: "80", ws: "80", https: "443", wss: "443" }[scheme] ?? "";
}

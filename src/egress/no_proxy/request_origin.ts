/** Whom a request goes to, as every client's matcher begins: by the text of its URL. */
export interface RequestOrigin {
  /** In lower case. */
  readonly scheme: string;
  /** As typed, without brackets. */
  readonly host: string;
  readonly isBracketed: boolean;
  /** As typed; empty where the URL has none. */
  readonly port: string;
}

/** Takes a URL apart without changing its host; undefined for what has none. */
export function requestOrigin(url: string): RequestOrigin | undefined {
  const [, scheme, authority] = /^([A-Za-z][A-Za-z0-9+.-]*):\/\/([^/?#\\\s]+)(?=[/?#\\]|$)/.exec(url) ?? [];
  if (scheme === undefined || authority === undefined) return undefined;
  const place = authority.slice(authority.lastIndexOf("@") + 1);
  const [, bracketed, plain, port = ""] = /^(?:\[([^[\]]*)\]|([^:]*))(?::([0-9]*))?$/.exec(place) ?? [];
  const host = bracketed ?? plain;
  if (host === undefined || host === "") return undefined;
  return { scheme: scheme.toLowerCase(), host, isBracketed: bracketed !== undefined, port };
}

/** A name in punycode; undefined for what is no name at all. */
export function asciiHost(host: string): string | undefined {
  if (/^[\0-\x7f]*$/.test(host)) return host;
  return URL.parse(`http://${host}/`)?.hostname;
}

/** The port that a request without one goes to; empty for a scheme that has none. */
export function portOf({ scheme, port }: RequestOrigin): string {
  return port !== "" ? port : { http: "80", ws: "80", https: "443", wss: "443" }[scheme] ?? "";
}

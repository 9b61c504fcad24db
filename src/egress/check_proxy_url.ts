import { percentDecoded } from "../core/mod.ts";
import { parseRequestUri, type RequestUri } from "./no_proxy/request_uri.ts";
import type { SpecProblem, SpecReason } from "./proxy_spec.ts";

/** The two fields of a spec that name a proxy. */
export type ProxyField = "httpProxy" | "httpsProxy";

/** The allowed schemes of each field. Clients speak plain HTTP to a proxy for http requests. */
const schemes: Readonly<Record<ProxyField, readonly string[]>> = {
  httpProxy: ["http"],
  httpsProxy: ["http", "https"],
};

/** The parts of a proxy's URL. */
export interface ProxyPlace {
  readonly scheme: "http" | "https";
  /** Without brackets. */
  readonly host: string;
  readonly port: number;
  readonly credentials?: { readonly user: string; readonly password: string };
}

/** Checks a proxy's URL and returns its parts or a problem. No message quotes the URL. */
export function checkProxyUrl(
  text: string,
  field: ProxyField,
): { readonly place: ProxyPlace; readonly warnings: SpecProblem[] } | { readonly problem: SpecProblem } {
  const fail = (reason: SpecReason, message: string) => ({
    problem: { path: ["spec", field], reason, message },
  });
  const allowed = schemes[field];
  const begins = allowed.map((scheme) => `${scheme}://`).join(" or ");
  const uri = parseRequestUri(text);
  if ("problem" in uri) {
    const isWithoutScheme = !/^[a-z][a-z0-9+.-]*:/i.test(text);
    return isWithoutScheme
      ? fail("UrlMalformed", `must be a URL that begins with ${begins}`)
      : fail("UrlMalformed", uri.problem);
  }
  if (!isAllowed(uri, allowed)) return fail("SchemeNotAllowed", schemeMessage(uri, begins, field));
  if (uri.host === "") {
    const why = uri.isOpaque ? `: write // after "${uri.scheme}:"` : "";
    return fail("HostMissing", `must have a host${why}`);
  }
  const port = uri.port === undefined || uri.port === "" ? defaultPort(uri.scheme) : Number(uri.port);
  if (port < 1 || port > 65535) return fail("PortOutOfRange", "must have a port from 1 to 65535");
  const warnings: SpecProblem[] = [];
  if (uri.port === "") {
    const message = `has a colon without a port: clients use port ${port}, or reject the URL`;
    warnings.push({ path: ["spec", field], reason: "ClientsDisagree", message });
  }
  const { scheme, host } = uri;
  return { place: { scheme, host, port, ...credentialsOf(uri) }, warnings };
}

/** The parts of an accepted proxy's URL; undefined when the URL is invalid. */
export function proxyPlace(text: string): ProxyPlace | undefined {
  const checked = checkProxyUrl(text, "httpsProxy");
  return "place" in checked ? checked.place : undefined;
}

function isAllowed(
  uri: RequestUri,
  allowed: readonly string[],
): uri is RequestUri & { readonly scheme: ProxyPlace["scheme"] } {
  return allowed.includes(uri.scheme);
}

function defaultPort(scheme: "http" | "https"): number {
  return scheme === "https" ? 443 : 80;
}

function schemeMessage({ scheme, isOpaque }: RequestUri, begins: string, field: ProxyField): string {
  // In "proxy.example:3128" the host is before the colon. A user name may also be there, so do not quote it.
  if (isOpaque) return `must begin with ${begins}: clients read a name before the first colon as the scheme`;
  if (scheme === "") return `must begin with ${begins}`;
  if (scheme === "https" && field === "httpProxy") {
    return `must begin with ${begins}: clients do not use TLS to the proxy for http requests`;
  }
  return `must begin with ${begins}: not all clients in a cluster support "${scheme}" proxies`;
}

function credentialsOf({ userinfo }: RequestUri): Pick<ProxyPlace, "credentials"> {
  if (userinfo === undefined) return {};
  const colon = userinfo.indexOf(":");
  const user = colon < 0 ? userinfo : userinfo.slice(0, colon);
  const password = colon < 0 ? "" : userinfo.slice(colon + 1);
  // The escapes are well-formed. If their bytes are not UTF-8, clients send them as written.
  return {
    credentials: { user: percentDecoded(user) ?? user, password: percentDecoded(password) ?? password },
  };
}

import { isLoopbackHost, PosternError } from "../words/mod.ts";

/** The path of a discovery document below its issuer (OpenID Connect Discovery, section 4). */
export const wellKnown = "/.well-known/openid-configuration";

/** The issuer of a discovery document, without a trailing slash. */
export function issuerOf(discoveryUrl: string): string {
  const url = URL.parse(discoveryUrl);
  if (!url || !["https:", "http:"].includes(url.protocol) || url.username !== "" || url.password !== "") {
    throw new PosternError(
      "config",
      "Cannot sign in: the OIDC discovery URL is not a web address",
      {
        hint: "use the form https://HOST/PATH/.well-known/openid-configuration",
      },
    );
  }
  const path = url.pathname.endsWith(wellKnown) ? url.pathname.slice(0, -wellKnown.length) : url.pathname;
  return `${url.origin}${path.replace(/\/+$/, "")}`;
}

/** Checks a URL that the browser opens or the user sees. */
export function webAddress(text: string, issuer: string): string {
  const url = URL.parse(text);
  const isSafe = url?.protocol === "https:" || (url !== null && isPlainLoopback(url));
  if (url && isSafe) return url.href;
  throw new PosternError("protocol", `Cannot sign in at ${issuer}: it refers to a page without https`);
}

/** Whether a URL without TLS refers to this machine. */
export function isPlainLoopback({ protocol, hostname }: URL): boolean {
  return protocol === "http:" && isLoopbackHost(hostname);
}

import { isLoopbackHost, PosternError } from "../words/mod.ts";

/** Where a discovery document stands below its issuer (OpenID Connect Discovery, section 4). */
export const wellKnown = "/.well-known/openid-configuration";

/** The issuer that belongs to a discovery document; without a slash at its end. */
export function issuerOf(discoveryUrl: string): string {
  const url = URL.parse(discoveryUrl);
  if (!url || !["https:", "http:"].includes(url.protocol) || url.username !== "" || url.password !== "") {
    throw new PosternError(
      "config",
      "Cannot sign in: the OIDC discovery URL is not the address of a web page",
      {
        hint: "write it as https://HOST/PATH/.well-known/openid-configuration",
      },
    );
  }
  const path = url.pathname.endsWith(wellKnown) ? url.pathname.slice(0, -wellKnown.length) : url.pathname;
  return `${url.origin}${path.replace(/\/+$/, "")}`;
}

/** What goes to a browser or is shown to a person to open. */
export function webAddress(text: string, issuer: string): string {
  const url = URL.parse(text);
  const isSafe = url?.protocol === "https:" || (url !== null && isPlainLoopback(url));
  if (url && isSafe) return url.href;
  throw new PosternError("protocol", `Cannot sign in at ${issuer}: it names a page that is not https`);
}

/** Without TLS only this very machine is asked. */
export function isPlainLoopback({ protocol, hostname }: URL): boolean {
  return protocol === "http:" && isLoopbackHost(hostname);
}

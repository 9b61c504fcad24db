import { sha256 } from "../../core/mod.ts";
import { isLoopbackHost } from "../../words/mod.ts";
import { parseAuthority } from "../../wire/mod.ts";
import { type PageRequest, type PageResponse, textPage } from "./page.ts";

/**
 * Access to a page: everyone, clients on this machine, clients with the token, or also clients of the admin
 * listener.
 */
export type PageNeed = "anyone" | "local" | "token" | "metrics";

/**
 * Returns the refusal of a request, or undefined if access is allowed. A website can make a local browser
 * send requests to us. With a name that resolves to us (DNS rebinding), Host is not a loopback name. From a
 * script or form, the browser reports another origin.
 */
export async function refusal(
  request: PageRequest,
  need: PageNeed,
  { token }: { token: string },
): Promise<PageResponse | undefined> {
  const { access } = request;
  if (need === "anyone" || access === "control") return undefined;
  if (access === "admin") {
    return need === "metrics" ? undefined : textPage("Not found", 404);
  }
  const foreign = foreignRefusal(request);
  if (foreign || need === "local" || await hasToken(request, token)) return foreign;
  const page = textPage("This page requires the token of the instance", 401);
  return { ...page, fields: [...page.fields, ["WWW-Authenticate", 'Bearer realm="postern"']] };
}

/** The refusal of a request that may come from a website in a local browser; otherwise undefined. */
export function foreignRefusal(request: PageRequest): PageResponse | undefined {
  const host = request.fields.get("host");
  // An HTTP/1.0 client without Host is not a browser.
  if (host !== undefined && !isLocal(host)) return textPage("Host not allowed", 403);
  return isForeign(request, host ?? "") ? textPage("Cross-site request not allowed", 403) : undefined;
}

/**
 * Whether a request has the token in `Postern-Token` or as a bearer token. Not in the URL, which programs may
 * log.
 */
export async function hasToken({ fields }: Pick<PageRequest, "fields">, token: string): Promise<boolean> {
  const bearer = /^bearer +(\S+)$/i.exec(fields.get("authorization") ?? "")?.[1];
  const given = fields.get("postern-token") ?? bearer;
  return given !== undefined && await isSame(given, token);
}

function isLocal(host: string): boolean {
  try {
    return isLoopbackHost(parseAuthority(host, 80).host);
  } catch {
    // An invalid Host is not ours.
    return false;
  }
}

function isForeign({ fields }: PageRequest, host: string): boolean {
  const site = fields.get("sec-fetch-site");
  if (site !== undefined && site !== "same-origin" && site !== "none") return true;
  const origin = fields.get("origin");
  return origin !== undefined && origin.toLowerCase() !== `http://${host.toLowerCase()}`;
}

/** Compares digests, so that the duration reveals nothing about the token. */
async function isSame(given: string, token: string): Promise<boolean> {
  if (token === "") return false;
  const [a, b] = await Promise.all([sha256(given), sha256(token)]);
  let difference = 0;
  for (const [index, byte] of a.entries()) difference |= byte ^ (b[index] ?? 0);
  return difference === 0;
}

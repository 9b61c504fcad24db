import { sha256 } from "../../core/mod.ts";
import { isLoopbackHost } from "../../words/mod.ts";
import { parseAuthority } from "../../wire/mod.ts";
import { type PageRequest, type PageResponse, textPage } from "./page.ts";

/** Who may see a page: anyone, a program of this machine, one with the token, or also who sees the admin listener. */
export type PageNeed = "anyone" | "local" | "token" | "metrics";

/**
 * Why a request may not see a page, or undefined when it may. A browser of this machine can be made to ask us by any
 * web site it visits: by a name of the site that resolves to us (so Host must be a loopback one), or by a script or
 * form there (so what a browser says about the asking page must be ourselves).
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
  const page = textPage("Needs the door's token", 401);
  return { ...page, fields: [...page.fields, ["WWW-Authenticate", 'Bearer realm="postern"']] };
}

/** Why a request may come from a web site that a browser of this machine shows; undefined when it does not. */
export function foreignRefusal(request: PageRequest): PageResponse | undefined {
  const host = request.fields.get("host");
  // A client of HTTP/1.0 without Host is no browser.
  if (host !== undefined && !isLocal(host)) return textPage("Not for this host", 403);
  return isForeign(request, host ?? "") ? textPage("Not for another site's pages", 403) : undefined;
}

/** Whether a request brings the token: in `Postern-Token` or as a bearer, never in the URL, which others may write down. */
export async function hasToken({ fields }: PageRequest, token: string): Promise<boolean> {
  const bearer = /^bearer +(\S+)$/i.exec(fields.get("authorization") ?? "")?.[1];
  const given = fields.get("postern-token") ?? bearer;
  return given !== undefined && await isSame(given, token);
}

function isLocal(host: string): boolean {
  try {
    return isLoopbackHost(parseAuthority(host, 80).host);
  } catch {
    // Whatever that Host means, it does not mean us.
    return false;
  }
}

function isForeign({ fields }: PageRequest, host: string): boolean {
  const site = fields.get("sec-fetch-site");
  if (site !== undefined && site !== "same-origin" && site !== "none") return true;
  const origin = fields.get("origin");
  return origin !== undefined && origin.toLowerCase() !== `http://${host.toLowerCase()}`;
}

/** Compares digests, so that the time taken tells nothing about the token. */
async function isSame(given: string, token: string): Promise<boolean> {
  if (token === "") return false;
  const [a, b] = await Promise.all([sha256(given), sha256(token)]);
  let difference = 0;
  for (const [index, byte] of a.entries()) difference |= byte ^ (b[index] ?? 0);
  return difference === 0;
}

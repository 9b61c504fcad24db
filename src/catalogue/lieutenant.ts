import { isMapping } from "../config/mod.ts";
import { type Clock, jsonIn } from "../core/mod.ts";
import { isLoopbackHost, PosternError } from "../words/mod.ts";
import type { Catalogue, FactWarning } from "../clusters/mod.ts";
import { type HttpAnswer, type HttpClient, jsonBody, placeOf } from "../http/mod.ts";
import { TokenRefusal } from "../signin/mod.ts";
import { readClusters } from "./read_clusters.ts";

/** The most bytes of a list of clusters. */
export const longestCatalogue = 10 * 1024 * 1024;

/** What a Lieutenant API says of itself to anybody. */
export interface LieutenantInfo {
  readonly apiVersion: string;
  /** Where to sign in; absent where nobody has told it. */
  readonly oidc?: { readonly clientId: string; readonly discoveryUrl: string };
}

export interface CatalogueRequest {
  /** The name of the catalogue in the configuration. */
  readonly name: string;
  /** The address of the API. */
  readonly lieutenant: URL;
  /** Only the clusters of this tenant. */
  readonly tenant?: string;
  /** The bearer token. */
  readonly token: string;
}

export interface CatalogueParts {
  readonly clock: Pick<Clock, "date">;
  readonly client: HttpClient;
}

/** A catalogue as it came, and what of it could not be used. */
export interface FetchedCatalogue {
  readonly catalogue: Catalogue;
  readonly warnings: readonly FactWarning[];
  /** The ids of clusters that ask not to be listed. */
  readonly ignored: readonly string[];
}

/** What a Lieutenant API says of itself; needs no token. */
export async function discoverLieutenant(
  lieutenant: URL,
  { client }: Pick<CatalogueParts, "client">,
  { signal }: { signal: AbortSignal },
): Promise<LieutenantInfo> {
  const url = below(lieutenant, "");
  const what = `what ${placeOf(url)} says of itself`;
  const value = jsonOf(await client.ask({ url, redirects: 3 }, { signal }), what);
  const { apiVersion, oidc } = isMapping(value) ? value : {};
  if (typeof apiVersion !== "string") throw notLieutenant(what, "it says no apiVersion");
  if (oidc === undefined || oidc === null) return { apiVersion };
  const { clientId, discoveryUrl } = isMapping(oidc) ? oidc : {};
  const isUrl = typeof discoveryUrl === "string" && /^https?:\/\//i.test(discoveryUrl) &&
    URL.canParse(discoveryUrl);
  if (typeof clientId !== "string" || clientId === "" || !isUrl) {
    throw notLieutenant(what, "its oidc has no clientId, or no discoveryUrl that is a URL");
  }
  return { apiVersion, oidc: { clientId, discoveryUrl } };
}

/**
 * All clusters that a token may see. Where the token is not good any more the failure is `auth`: a sign-in helps.
 * `not_allowed` is a good token of somebody who may not.
 */
export async function fetchCatalogue(
  { name, lieutenant, tenant, token }: CatalogueRequest,
  { clock, client }: CatalogueParts,
  { signal }: { signal: AbortSignal },
): Promise<FetchedCatalogue> {
  const url = below(lieutenant, "/clusters");
  const what = `the clusters of ${placeOf(lieutenant)}`;
  if (tenant !== undefined) url.searchParams.set("tenant", tenant);
  demandSafe(url, token, what);
  const answer = await client.ask(
    // The word is compared letter by letter there.
    { url, fields: [["Authorization", `Bearer ${token}`]], limit: longestCatalogue },
    { signal },
  );
  const { clusters, warnings, ignored } = readClusters(jsonOf(answer, what));
  const fetched = clock.date().toISOString();
  return { catalogue: { name, source: placeOf(lieutenant), fetched, clusters }, warnings, ignored };
}

function below(lieutenant: URL, path: string): URL {
  const url = new URL(lieutenant.href);
  url.search =
    url.hash =
    url.username =
    url.password =
      "";
  url.pathname = `${url.pathname.replace(/\/+$/, "")}${path}`;
  return url;
}

/** Whoever reads the token on its way is signed in as us. */
function demandSafe(url: URL, token: string, what: string): void {
  if (!/^[\x21-\x7e]+$/.test(token)) {
    throw new TokenRefusal(`Cannot read ${what}: the token is not one word`);
  }
  if (url.protocol === "https:" || isLoopbackHost(url.hostname)) return;
  throw new PosternError("not_allowed", `Cannot read ${what}: a token is never sent without TLS`, {
    hint: "write the address with https://",
  });
}

function jsonOf(answer: HttpAnswer, what: string): unknown {
  if (answer.status < 200 || answer.status > 299) throw failureOf(answer, what);
  if (/^\s*</.test(new TextDecoder().decode(answer.body))) {
    throw notLieutenant(what, "it answered a web page");
  }
  return jsonBody(answer.body, `Cannot read ${what}`);
}

function notLieutenant(what: string, why: string): PosternError {
  return new PosternError("protocol", `Cannot read ${what}: ${why}`, {
    hint: "check that it is the address of the Lieutenant API, and that no sign-in page stands in between",
  });
}

/** What Lieutenant 0.12 was seen to answer: 400 without a usable token, 401 or 500 for one that is not good any more. */
function failureOf(answer: HttpAnswer, what: string): PosternError {
  const { status, fields } = answer;
  const reason = reasonOf(answer);
  const says = reason === undefined ? `it answered ${status}` : `it answered ${status}: ${reason}`;
  const failure = (code: "config" | "not_allowed" | "protocol" | "unreachable", hint: string) =>
    new PosternError(code, `Cannot read ${what}: ${says}`, {
      hint,
      ...(code === "not_allowed" && { exit: 5 }),
    });
  const isRefused = status === 401 || (status === 500 && /\bUnauthorized\b/.test(reason ?? "")) ||
    (status === 400 && /\bjwt\b/i.test(reason ?? ""));
  if (isRefused) return new TokenRefusal(`Cannot read ${what}: ${says}`);
  if (status === 403) return failure("not_allowed", "ask whoever runs it to let your account list clusters");
  if (status >= 300 && status < 400) {
    const to = URL.parse(fields.get("location") ?? "", answer.url.href);
    return failure("config", to ? `it leads to ${placeOf(to)}: write that address` : "check its address");
  }
  if (status === 404) return failure("config", "check that it is the address of the Lieutenant API");
  if (status >= 500 || status === 429) {
    return failure("unreachable", "try again later: what was stored is still there");
  }
  return failure("protocol", "check that it is the address of the Lieutenant API");
}

/** What it says went wrong, on one line; undefined where it does not say it as it should. */
function reasonOf({ body }: HttpAnswer): string | undefined {
  // Of a web page, or of nothing, the status has to do.
  const value = jsonIn(body);
  const reason = isMapping(value) ? value["reason"] ?? value["message"] : undefined;
  if (typeof reason !== "string" || reason === "") return undefined;
  return reason.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, " ").slice(0, 300);
}

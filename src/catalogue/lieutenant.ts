import { isMapping } from "../config/mod.ts";
import { type Clock, jsonIn } from "../core/mod.ts";
import { isLoopbackHost, PosternError } from "../words/mod.ts";
import type { Catalogue, FactWarning } from "../clusters/mod.ts";
import { type HttpAnswer, type HttpClient, jsonBody, placeOf } from "../http/mod.ts";
import { TokenRefusal } from "../signin/mod.ts";
import { readClusters } from "./read_clusters.ts";

/** Maximum size of a list of clusters in bytes. */
export const longestCatalogue = 10 * 1024 * 1024;

/** The public description of a Lieutenant API. */
export interface LieutenantInfo {
  readonly apiVersion: string;
  /** Where to sign in; absent if the API's operator has not configured it. */
  readonly oidc?: { readonly clientId: string; readonly discoveryUrl: string };
}

export interface CatalogueRequest {
  /** The name of the catalogue in the configuration. */
  readonly name: string;
  /** The URL of the API. */
  readonly lieutenant: URL;
  /** Fetch only the clusters of this tenant. */
  readonly tenant?: string;
  readonly token: string;
}

export interface CatalogueParts {
  readonly clock: Pick<Clock, "date">;
  readonly client: HttpClient;
}

/** A fetched catalogue, with warnings about its unusable parts. */
export interface FetchedCatalogue {
  readonly catalogue: Catalogue;
  readonly warnings: readonly FactWarning[];
  /** The ids of clusters with the fact `kharonIgnore`. */
  readonly ignored: readonly string[];
}

/** Fetches the public description of a Lieutenant API; needs no token. */
export async function discoverLieutenant(
  lieutenant: URL,
  { client }: Pick<CatalogueParts, "client">,
  { signal }: { signal: AbortSignal },
): Promise<LieutenantInfo> {
  const url = below(lieutenant, "");
  const what = `the API description of ${placeOf(url)}`;
  const value = jsonOf(await client.ask({ url, redirects: 3 }, { signal }), what);
  const { apiVersion, oidc } = isMapping(value) ? value : {};
  if (typeof apiVersion !== "string") throw notLieutenant(what, "it has no apiVersion");
  if (oidc === undefined || oidc === null) return { apiVersion };
  const { clientId, discoveryUrl } = isMapping(oidc) ? oidc : {};
  const isUrl = typeof discoveryUrl === "string" && /^https?:\/\//i.test(discoveryUrl) &&
    URL.canParse(discoveryUrl);
  if (typeof clientId !== "string" || clientId === "" || !isUrl) {
    throw notLieutenant(what, "its oidc lacks a clientId or a valid discoveryUrl");
  }
  return { apiVersion, oidc: { clientId, discoveryUrl } };
}

/**
 * Fetches all clusters that a token may see. Throws `auth` if the token is no longer valid and a sign-in
 * would help, and `not_allowed` if a valid token lacks the right.
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
    // Lieutenant compares the word "Bearer" case-sensitively.
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

/** Refuses to send a token without TLS: an eavesdropper could sign in with it. */
function demandSafe(url: URL, token: string, what: string): void {
  if (!/^[\x21-\x7e]+$/.test(token)) {
    throw new TokenRefusal(`Cannot read ${what}: the token is not a single word`);
  }
  if (url.protocol === "https:" || isLoopbackHost(url.hostname)) return;
  throw new PosternError("not_allowed", `Cannot read ${what}: postern sends tokens only over TLS`, {
    hint: "change the URL to https://",
  });
}

function jsonOf(answer: HttpAnswer, what: string): unknown {
  if (answer.status < 200 || answer.status > 299) throw failureOf(answer, what);
  if (/^\s*</.test(new TextDecoder().decode(answer.body))) {
    throw notLieutenant(what, "the server returned a web page");
  }
  return jsonBody(answer.body, `Cannot read ${what}`);
}

function notLieutenant(what: string, why: string): PosternError {
  return new PosternError("protocol", `Cannot read ${what}: ${why}`, {
    hint: "check that the URL points to the Lieutenant API and that no sign-in page protects it",
  });
}

/**
 * The error for a response. Lieutenant 0.12 returns 400 without a usable token, and 401 or 500 for an expired
 * one.
 */
function failureOf(answer: HttpAnswer, what: string): PosternError {
  const { status, fields } = answer;
  const reason = reasonOf(answer);
  const says = reason === undefined
    ? `the server returned ${status}`
    : `the server returned ${status}: ${reason}`;
  const failure = (code: "config" | "not_allowed" | "protocol" | "unreachable", hint: string) =>
    new PosternError(code, `Cannot read ${what}: ${says}`, {
      hint,
      ...(code === "not_allowed" && { exit: 5 }),
    });
  const isRefused = status === 401 || (status === 500 && /\bUnauthorized\b/.test(reason ?? "")) ||
    (status === 400 && /\bjwt\b/i.test(reason ?? ""));
  if (isRefused) return new TokenRefusal(`Cannot read ${what}: ${says}`);
  if (status === 403) {
    return failure("not_allowed", "ask the API's administrator to let your account list clusters");
  }
  if (status >= 300 && status < 400) {
    const to = URL.parse(fields.get("location") ?? "", answer.url.href);
    return failure("config", to ? `change the URL to ${placeOf(to)}, where it redirects` : "check the URL");
  }
  if (status === 404) return failure("config", "check that the URL points to the Lieutenant API");
  if (status >= 500 || status === 429) {
    return failure("unreachable", "try again later; the stored catalogue is unchanged");
  }
  return failure("protocol", "check that the URL points to the Lieutenant API");
}

/** The error message of a response, on one line; undefined if the body does not contain one. */
function reasonOf({ body }: HttpAnswer): string | undefined {
  // A web page or an empty body contains no message.
  const value = jsonIn(body);
  const reason = isMapping(value) ? value["reason"] ?? value["message"] : undefined;
  if (typeof reason !== "string" || reason === "") return undefined;
  return reason.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, " ").slice(0, 300);
}

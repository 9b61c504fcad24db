import { asPosternError, formatTarget, parseTarget, PosternError } from "../../words/mod.ts";
import { metricsText, metricsType, parseAuthority } from "../../wire/mod.ts";
import { errorJson, jsonPage, type PageRequest, type PageResponse, type Pages, textPage } from "./page.ts";
import { eventsPage } from "./event_stream.ts";
import { loadLivePage } from "./load_live_page.ts";
import { type PageNeed, refusal } from "./page_access.ts";
import { findRoute, handlerFor, type PageHandler, type PageRoute } from "./page_routes.ts";
import type { PageSource } from "./page_source.ts";

/** The media type of a PAC file. */
export const pacType = "application/x-ns-proxy-autoconfig";

/** The pages of an instance, for all listeners. The listener and the token decide what a client may see. */
export function createPages(source: PageSource): Pages {
  const routes = pageRoutes(source);
  return async (request, { signal }) => {
    const found = findRoute(routes, request.path);
    // An unknown path needs the same access as a known one, so a website cannot tell them apart.
    const refused = await refusal(request, found?.route.need ?? "local", source);
    if (refused) return secured(refused);
    if (!found) return secured(textPage("Not found", 404));
    const handler = handlerFor(found.route, request.method);
    return secured(await handler(request, { signal, parts: found.parts }));
  };
}

/** Answers `/explain`; the port of the target defaults to 443. */
export async function explainPage(
  source: PageSource,
  { query }: PageRequest,
  { signal }: { signal: AbortSignal },
): Promise<PageResponse> {
  const text = query.get("target")?.trim();
  if (!text) {
    throw new PosternError("usage", "Cannot explain a route: the target is missing", {
      hint: "request /explain?target=HOST:PORT",
    });
  }
  const target = parseTarget(text, 443);
  return jsonPage(await source.explain(target, { dial: query.get("dial") === "1", signal }));
}

/** Closes the connection whose id is the first part of the path. */
export function closePage(source: PageSource, parts: readonly string[]): PageResponse {
  const id = parts[0] ?? "";
  if (!/^[0-9]{1,15}$/.test(id) || !source.closeConnection(Number(id))) {
    throw new PosternError(
      "usage",
      `Cannot close connection ${JSON.stringify(id.slice(0, 40))}: no connection has this id`,
      { exit: 1, hint: "list the connections: postern connections" },
    );
  }
  return jsonPage({ closed: Number(id) });
}

function pageRoutes(source: PageSource): readonly PageRoute<PageNeed>[] {
  const explain: PageHandler = (request, options) => explainPage(source, request, options);
  return [
    { path: "/proxy.pac", need: "local", GET: (request) => pacPage(source, request) },
    { path: "/healthz", need: "anyone", GET: () => healthPage(source, ["ready", "starting", "draining"]) },
    { path: "/readyz", need: "anyone", GET: () => healthPage(source, ["ready"]) },
    { path: "/metrics", need: "metrics", GET: () => metricsPage(source) },
    { path: "/status.json", need: "token", GET: () => jsonPage(source.status()) },
    { path: "/connections.json", need: "token", GET: () => jsonPage(source.connections()) },
    { path: "/explain", need: "token", GET: forPrograms(explain) },
    {
      path: "/connections/*/close",
      need: "token",
      POST: forPrograms((_, { parts }) => closePage(source, parts)),
    },
    { path: "/reload", need: "token", POST: forPrograms(async () => jsonPage(await source.reload())) },
    { path: "/events", need: "token", GET: () => eventsPage(source.watch()) },
    { path: "/use.json", need: "token", GET: forPrograms((request) => usePage(source, request)) },
    { path: "/favicon.ico", need: "local", GET: () => ({ status: 204, fields: [], body: "" }) },
    { path: "/page/*", need: "local", GET: (_, { parts }) => partPage(parts) },
    { path: "/", need: "local", GET: (request) => frontPage(source, request) },
  ];
}

/** Answers "ok" for `ready`, as health checks expect. */
function healthPage(source: PageSource, good: readonly string[]): PageResponse {
  const phase = source.health();
  return textPage(phase === "ready" ? "ok" : phase, good.includes(phase) ? 200 : 503);
}

function metricsPage(source: PageSource): PageResponse {
  return { status: 200, fields: [["Content-Type", metricsType]], body: metricsText(source.metrics()) };
}

/** The live page, with the token for trusted clients. */
async function frontPage(source: PageSource, { access, local }: PageRequest): Promise<PageResponse> {
  const { livePage } = await loadLivePage();
  const isTrusted = access === "control" || source.sharesToken(local);
  return livePage(isTrusted ? source.token : undefined);
}

async function partPage([name = ""]: readonly string[]): Promise<PageResponse> {
  const { livePart } = await loadLivePage();
  return livePart(name) ?? textPage("Not found", 404);
}

/** The proxy settings for a user to copy. */
function usePage(source: PageSource, { fields, local }: PageRequest): PageResponse {
  const { http, socks, notes, needsAuth } = source.env({ credentials: false });
  return jsonPage({
    pac: `http://${authorityFor(fields, local) ?? new URL(http).host}/proxy.pac`,
    http,
    socks,
    sh: source.environmentLines("sh"),
    fish: source.environmentLines("fish"),
    powershell: source.environmentLines("powershell"),
    notes,
    needsAuth,
  });
}

/**
 * The address under which the client reaches the listener, also through a tunnel. A Host without a port means
 * port 80.
 */
function authorityFor(fields: PageRequest["fields"], local: string | undefined): string | undefined {
  const host = fields.get("host");
  return host === undefined ? local : formatTarget(parseAuthority(host, 80));
}

function pacPage(source: PageSource, { fields, local }: PageRequest): PageResponse {
  const authority = authorityFor(fields, local);
  if (authority === undefined) {
    throw new PosternError("usage", "Cannot write a PAC file: the request has no Host field", {
      hint: "send a Host field",
    });
  }
  return {
    status: 200,
    fields: [["Content-Type", pacType], ["Cache-Control", "no-cache"]],
    body: source.pac(authority, local),
  };
}

/** Wraps a handler so that its errors are JSON. */
export function forPrograms(handler: PageHandler): PageHandler {
  return async (request, options) => {
    try {
      return await handler(request, options);
    } catch (error) {
      // The server logs internal errors.
      if (asPosternError(error).code === "internal") throw error;
      return errorJson(error);
    }
  };
}

/** Pages are not cached, framed, sniffed or fetched by other sites. Fields of the page take precedence. */
function secured(page: PageResponse): PageResponse {
  const said = new Set(page.fields.map(([name]) => name));
  return { ...page, fields: [...page.fields, ...guards.filter(([name]) => !said.has(name))] };
}

const guards: readonly (readonly [string, string])[] = [
  ["Cache-Control", "no-store"],
  ["X-Content-Type-Options", "nosniff"],
  ["Referrer-Policy", "no-referrer"],
  ["Cross-Origin-Resource-Policy", "same-origin"],
  ["X-Frame-Options", "DENY"],
  ["Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"],
];

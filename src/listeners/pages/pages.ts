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

/** The pages of a door, for all its listeners: what a client sees depends on how it came and what it brings. */
export function createPages(source: PageSource): Pages {
  const routes = pageRoutes(source);
  return async (request, { signal }) => {
    const found = findRoute(routes, request.path);
    // An unknown path needs no less than a known one: what a foreign page hears must not tell them apart.
    const refused = await refusal(request, found?.route.need ?? "local", source);
    if (refused) return secured(refused);
    if (!found) return secured(textPage("Not found", 404));
    const handler = handlerFor(found.route, request.method);
    return secured(await handler(request, { signal, parts: found.parts }));
  };
}

/** Reads the target of `/explain`; the port of https unless it names one. */
export async function explainPage(
  source: PageSource,
  { query }: PageRequest,
  { signal }: { signal: AbortSignal },
): Promise<PageResponse> {
  const text = query.get("target")?.trim();
  if (!text) {
    throw new PosternError("usage", "Cannot explain nothing", { hint: "ask for /explain?target=HOST:PORT" });
  }
  const target = parseTarget(text, 443);
  return jsonPage(await source.explain(target, { dial: query.get("dial") === "1", signal }));
}

/** Drops the connection whose id is the first part of the path. */
export function closePage(source: PageSource, parts: readonly string[]): PageResponse {
  const id = parts[0] ?? "";
  if (!/^[0-9]{1,15}$/.test(id) || !source.closeConnection(Number(id))) {
    throw new PosternError(
      "usage",
      `Cannot close connection ${JSON.stringify(id.slice(0, 40))}: there is none`,
      { exit: 1, hint: "see them with: postern connections" },
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

/** `ready` is said as "ok", as those who probe expect it. */
function healthPage(source: PageSource, good: readonly string[]): PageResponse {
  const phase = source.health();
  return textPage(phase === "ready" ? "ok" : phase, good.includes(phase) ? 200 : 503);
}

function metricsPage(source: PageSource): PageResponse {
  return { status: 200, fields: [["Content-Type", metricsType]], body: metricsText(source.metrics()) };
}

/** The live page, with the token for whoever may have it. */
async function frontPage(source: PageSource, { access, local }: PageRequest): Promise<PageResponse> {
  const { livePage } = await loadLivePage();
  const isTrusted = access === "control" || source.sharesToken(local);
  return livePage(isTrusted ? source.token : undefined);
}

async function partPage([name = ""]: readonly string[]): Promise<PageResponse> {
  const { livePart } = await loadLivePage();
  return livePart(name) ?? textPage("Not found", 404);
}

/** What a person copies to use the door. */
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

/** Where the client reaches the door; a Host without a port means the usual one: a tunnel may lead from there. */
function authorityFor(fields: PageRequest["fields"], local: string | undefined): string | undefined {
  const host = fields.get("host");
  return host === undefined ? local : formatTarget(parseAuthority(host, 80));
}

function pacPage(source: PageSource, { fields, local }: PageRequest): PageResponse {
  const authority = authorityFor(fields, local);
  if (authority === undefined) {
    throw new PosternError("usage", "Cannot write a PAC file without knowing the door's address", {
      hint: "send Host",
    });
  }
  return {
    status: 200,
    fields: [["Content-Type", pacType], ["Cache-Control", "no-cache"]],
    body: source.pac(authority, local),
  };
}

/** A page whose errors are JSON too. */
export function forPrograms(handler: PageHandler): PageHandler {
  return async (request, options) => {
    try {
      return await handler(request, options);
    } catch (error) {
      // The server logs what is our own fault.
      if (asPosternError(error).code === "internal") throw error;
      return errorJson(error);
    }
  };
}

/** No page of ours is cached, framed, guessed at, or fetched by another site; what a page says itself wins. */
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

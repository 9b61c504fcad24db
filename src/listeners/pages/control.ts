import { jsonIn } from "../../core/mod.ts";
import { formatTarget, PosternError, targetOf } from "../../words/mod.ts";
import { controlProtocol, type Hello } from "../../control/mod.ts";
import type { ForwardSettings } from "../forward_settings.ts";
import { checkedForwards } from "../checked_forwards.ts";
import { eventsPage } from "./event_stream.ts";
import type { RequestHead } from "../../wire/mod.ts";
import { serveOnlyPages } from "../http/http_server.ts";
import { overloaded, type Serve } from "../listener.ts";
import { errorJson, jsonPage, type PageRequest, type Pages } from "./page.ts";
import { hasToken } from "./page_access.ts";
import { closePage, explainPage, forPrograms, pacType } from "./pages.ts";
import { findRoute, handlerFor, type PageRoute } from "./page_routes.ts";
import type { PageSource } from "./page_source.ts";
import { serveStream } from "./serve_stream.ts";

export interface ControlOptions {
  /** Required on loopback TCP, where no directory mode keeps other users out. */
  readonly token?: string | undefined;
}

/** The control API of a running instance: JSON under `/v1/`. */
export function createControl(source: PageSource, { token }: ControlOptions = {}): Pages {
  const routes = controlRoutes(source);
  return async (request, { signal }) => {
    if (token !== undefined && !await isTrusted(request, token)) {
      return errorJson(untrusted());
    }
    const found = findRoute(routes, request.path);
    if (!found) {
      return errorJson(
        new PosternError(
          "usage",
          `Cannot answer ${request.path}: the instance does not support this request`,
          {
            hint: "compare versions: postern version and postern status",
          },
        ),
      );
    }
    return await forPrograms(handlerFor(found.route, request.method))(request, {
      signal,
      parts: found.parts,
    });
  };
}

/**
 * The handler of a control socket, for `serveListener`. CONNECT connects the client to a target: only the user of
 * the instance gets here, so it needs no password of a listener, and `only` of the listeners does not apply.
 */
export function serveControl(control: Pages, { token }: ControlOptions = {}): Serve {
  let streams = 0;
  return (client, messages, deps, options) => {
    const other = async (head: RequestHead) => {
      streams++;
      try {
        await serveStream({ client, messages, head }, deps, {
          signal: options.signal,
          mayConnect: async () => {
            if (token !== undefined && !await isTrusted(head, token)) throw untrusted();
            // The other places are for requests such as `stop`.
            if (streams > deps.limits.connections - forRequests) throw overloaded(streams);
          },
        });
      } finally {
        streams--;
      }
    };
    return serveOnlyPages(client, messages, control, deps, { ...options, access: "control", other });
  };
}

/** How many clients of a control socket may ask at once, in addition to those with a connection. */
export const forRequests = 256;

function controlRoutes(source: PageSource): readonly PageRoute<"control">[] {
  const need = "control";
  return [
    { path: "/v1/hello", need, GET: () => jsonPage(hello(source)) },
    { path: "/v1/status", need, GET: () => jsonPage(source.status()) },
    { path: "/v1/connections", need, GET: () => jsonPage(source.connections()) },
    { path: "/v1/watch", need, GET: () => eventsPage(source.watch()) },
    { path: "/v1/forward", need, POST: ({ body }) => eventsPage(source.forward(forwardsIn(body))) },
    {
      path: "/v1/forward/*/close",
      need,
      POST: async (_, { parts: [id] }) => {
        await source.endForward(Number(id));
        return jsonPage({});
      },
    },
    { path: "/v1/connections/*/close", need, POST: (_, { parts }) => closePage(source, parts) },
    { path: "/v1/reload", need, POST: async () => jsonPage(await source.reload()) },
    {
      path: "/v1/stop",
      need,
      POST: ({ query }) => {
        const drain = source.stop(drainOf(query.get("drain")));
        return jsonPage({ state: "draining", ...(drain !== undefined && { drain }) }, 202);
      },
    },
    {
      path: "/v1/hosts",
      need,
      POST: async ({ query }, { signal }) => {
        const names = query.get("release") === "1" ? "none" : query.getAll("name");
        return jsonPage(await source.hosts(names, { signal }));
      },
    },
    { path: "/v1/explain", need, GET: (request, options) => explainPage(source, request, options) },
    {
      path: "/v1/pac",
      need,
      GET: ({ query }) => {
        const authority = query.get("authority") ?? authorityOf(source);
        return { status: 200, fields: [["Content-Type", pacType]], body: source.pac(authority) };
      },
    },
    { path: "/v1/ssh-hosts", need, GET: async () => jsonPage(await source.sshHosts()) },
    {
      path: "/v1/page",
      need,
      GET: () => {
        demandHttp(source);
        return jsonPage({ url: `http://${authorityOf(source)}/#token=${encodeURIComponent(source.token)}` });
      },
    },
    {
      path: "/v1/env",
      need,
      GET: ({ query }) => {
        const client = query.get("client");
        return jsonPage(
          source.env({ credentials: query.get("credentials") === "1", ...(client !== null && { client }) }),
        );
      },
    },
  ];
}

/** The address under which browsers on this machine reach the instance. */
function authorityOf(source: PageSource): string {
  return formatTarget(targetOf(new URL(source.env({ credentials: false }).http)));
}

/** Throws if the instance has only SOCKS listeners, which have no status page. */
function demandHttp(source: PageSource): void {
  if (source.env({ credentials: false }).http.startsWith("http:")) return;
  throw new PosternError("config", "Cannot open the status page: the instance has only SOCKS listeners", {
    exit: 1,
    hint: "add a listener: listen.mixed; or use: postern top",
  });
}

/**
 * Whether the request comes from a program on this machine with the token, not from a web page in a browser.
 */
async function isTrusted(request: Pick<PageRequest, "fields">, token: string): Promise<boolean> {
  const { fields } = request;
  if (fields.has("origin") || fields.has("sec-fetch-site")) return false;
  return await hasToken(request, token);
}

function untrusted(): PosternError {
  return new PosternError("auth", "Cannot use this control port without its token");
}

function hello(source: PageSource): Hello {
  const { version, id, pid } = source.status();
  return { version, id, pid, protocol: controlProtocol };
}

function drainOf(text: string | null): { drain?: number } {
  if (text === null) return {};
  if (/^[0-9]{1,9}$/.test(text)) return { drain: Number(text) };
  throw new PosternError("usage", `Cannot read drain ${JSON.stringify(text.slice(0, 40))} as milliseconds`);
}

function forwardsIn(body: Uint8Array): readonly ForwardSettings[] {
  return checkedForwards(jsonIn(new TextDecoder().decode(body)));
}

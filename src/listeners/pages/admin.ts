import type { Conn, Messages } from "../../core/mod.ts";
import { type Endpoint, isLoopbackHost } from "../../words/mod.ts";
import { type PageDeps, serveOnlyPages, type ServePagesOptions } from "../http/http_server.ts";
import { type Pages, textPage } from "./page.ts";
import { foreignRefusal } from "./page_access.ts";

type AdminDeps = PageDeps & { readonly pages?: Pages | undefined };

/** Serves one client of the `admin` listener: only health and metrics, for every client that reaches it. */
export async function serveAdmin(
  client: Conn,
  messages: Messages,
  deps: AdminDeps,
  options: ServePagesOptions,
): Promise<void> {
  const pages = deps.pages ?? (() => Promise.resolve(textPage("Not found", 404)));
  await serveOnlyPages(client, messages, pages, deps, { ...options, access: "admin" });
}

/**
 * The handler of an `admin` listener. On loopback it requires a local Host and Origin: a website could
 * otherwise send requests through a browser on this machine.
 */
export function serveAdminAt(endpoint: Endpoint): typeof serveAdmin {
  if ("path" in endpoint || !isLoopbackHost(endpoint.host)) return serveAdmin;
  return async (client, messages, deps, options) => {
    const { clock, deadlines, log, limits, pages } = deps;
    const local: Pages | undefined = pages &&
      (async (request, options) => foreignRefusal(request) ?? await pages(request, options));
    const parts = { clock, deadlines, log, limits, pages: local };
    await serveAdmin(client, messages, parts, options);
  };
}

import type { Conn, Messages } from "../core/mod.ts";
import { type PageDeps, serveOnlyPages, type ServePagesOptions } from "./http_server.ts";
import { type Pages, textPage } from "./page.ts";

/** Serves one client of the `admin` listener: health and metrics for whoever can reach it, and nothing else. */
export async function serveAdmin(
  client: Conn,
  messages: Messages,
  deps: PageDeps & { readonly pages?: Pages | undefined },
  options: ServePagesOptions,
): Promise<void> {
  const pages = deps.pages ?? (() => Promise.resolve(textPage("Not found", 404)));
  await serveOnlyPages(client, messages, pages, deps, { ...options, access: "admin" });
}

import { type PageRequest, type PageResponse, textPage } from "./page.ts";

/** Answers one page; `parts` are what the path's `*` stood for. */
export type PageHandler = (
  request: PageRequest,
  options: { signal: AbortSignal; parts: readonly string[] },
) => PageResponse | Promise<PageResponse>;

/** A path, who may see it, and what it does by method; HEAD is GET without the body. */
export interface PageRoute<Need> {
  /** `*` stands for one part. */
  readonly path: string;
  readonly need: Need;
  readonly GET?: PageHandler;
  readonly POST?: PageHandler;
}

/** The route of a path, with what its `*` stood for. */
export function findRoute<Need>(
  routes: readonly PageRoute<Need>[],
  path: string,
): { route: PageRoute<Need>; parts: readonly string[] } | undefined {
  const asked = path.split("/");
  for (const route of routes) {
    const parts = matchPath(route.path.split("/"), asked);
    if (parts) return { route, parts };
  }
  return undefined;
}

/** The handler of a method, or the 405 that names the others. */
export function handlerFor(route: PageRoute<unknown>, method: string): PageHandler {
  const handler = method === "GET" || method === "HEAD"
    ? route.GET
    : method === "POST"
    ? route.POST
    : undefined;
  const allow = [...(route.GET ? ["GET", "HEAD"] : []), ...(route.POST ? ["POST"] : [])].join(", ");
  return handler ?? (() => {
    const page = textPage(`Cannot ${method} here: only ${allow}`, 405);
    return { ...page, fields: [...page.fields, ["Allow", allow]] };
  });
}

function matchPath(pattern: readonly string[], asked: readonly string[]): readonly string[] | undefined {
  if (pattern.length !== asked.length) return undefined;
  const parts: string[] = [];
  for (const [index, part] of pattern.entries()) {
    const given = asked[index] ?? "";
    if (part === "*") parts.push(given);
    else if (part !== given) return undefined;
  }
  return parts;
}

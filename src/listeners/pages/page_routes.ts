import { type PageRequest, type PageResponse, textPage } from "./page.ts";

/** Answers one page; `parts` are the values of `*` in the path. */
export type PageHandler = (
  request: PageRequest,
  options: { signal: AbortSignal; parts: readonly string[] },
) => PageResponse | Promise<PageResponse>;

/** A path with its access and its methods; HEAD is GET without the body. */
export interface PageRoute<Need> {
  /** `*` matches one part. */
  readonly path: string;
  readonly need: Need;
  readonly GET?: PageHandler;
  readonly POST?: PageHandler;
}

/** The route of a path, with the values of `*`. */
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

/** The handler of a method, or one that answers 405. */
export function handlerFor(route: PageRoute<unknown>, method: string): PageHandler {
  const handler = method === "GET" || method === "HEAD"
    ? route.GET
    : method === "POST"
    ? route.POST
    : undefined;
  const allow = [...(route.GET ? ["GET", "HEAD"] : []), ...(route.POST ? ["POST"] : [])].join(", ");
  return handler ?? (() => {
    const page = textPage(`Cannot use ${method} here: the path supports only ${allow}`, 405);
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

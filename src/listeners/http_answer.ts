import { PosternError } from "../core/mod.ts";
import { encodeResponseHead, Http1Problem, type RequestHead } from "../wire/mod.ts";
import { joined } from "./http_body.ts";
import { errorPage, type PageResponse } from "./page.ts";

/** A page as the bytes of a response to a request with `method`. */
export function answerBytes(
  { status, fields, body }: PageResponse,
  { method, keeps, date }: { method: string | undefined; keeps: boolean; date: Date },
): Uint8Array<ArrayBuffer> {
  const text = new TextEncoder().encode(String(body));
  const head = encodeResponseHead({
    status,
    fields: [
      ...fields,
      ["Content-Length", String(text.length)],
      ["Date", date.toUTCString()],
      ["Connection", keeps ? "keep-alive" : "close"],
    ],
  });
  return method === "HEAD" ? head : joined([head, text], head.length + text.length);
}

/** The answer to a request that may go no further (RFC 9110, section 7.6.2); TRACE is not reflected, it would show passwords. */
export function lastStation({ method }: RequestHead): PageResponse {
  if (method === "OPTIONS") return { status: 200, fields: [["Content-Type", "text/plain"]], body: "" };
  return errorPage(new Http1Problem(501, "Cannot show a request to its sender"));
}

/** The answer to a client of a door with passwords that has none, or a wrong one (RFC 9110, section 11.7.1). */
export function passwordPage(): PageResponse {
  const page = errorPage(
    new PosternError("auth", "Cannot serve the request without the right user and password", {
      hint: "put them into the proxy's URL: http://USER:PASSWORD@HOST:PORT",
    }),
  );
  const challenge = ["Proxy-Authenticate", 'Basic realm="postern", charset="UTF-8"'] as const;
  return { ...page, status: 407, fields: [...page.fields, challenge] };
}

import { PosternError } from "../../words/mod.ts";
import { encodeResponseHead, Http1Problem, type RequestHead } from "../../wire/mod.ts";
import { joinBytes } from "../../core/mod.ts";
import { errorPage, type PageResponse, type WholePage } from "../pages/page.ts";

export interface ResponseOptions {
  /** Of the request; undefined where nobody could read it. */
  readonly method: string | undefined;
  /** Whether another request may follow on the connection. */
  readonly keeps: boolean;
  readonly date: Date;
}

/** A page as the bytes of a response. */
export function answerBytes(page: WholePage, options: ResponseOptions): Uint8Array<ArrayBuffer> {
  const { status, body } = page;
  const bytes = typeof body === "string" ? encoder.encode(body) : body;
  const isEmpty = status === 204 || status === 304;
  const head = answerHead(page, isEmpty ? [] : [["Content-Length", String(bytes.length)]], options);
  return isEmpty || options.method === "HEAD" ? head : joinBytes([head, bytes]);
}

/** The head alone, with the fields that tell how long the body is. */
export function answerHead(
  { status, fields }: PageResponse,
  framing: readonly (readonly [name: string, value: string])[],
  { keeps, date }: ResponseOptions,
): Uint8Array<ArrayBuffer> {
  const connection = keeps ? "keep-alive" : "close";
  return encodeResponseHead({
    status,
    fields: [...fields, ...framing, ["Date", date.toUTCString()], ["Connection", connection]],
  });
}

const encoder = new TextEncoder();

/** The answer to OPTIONS where it is about the server as a whole (RFC 9110, section 9.3.7). */
export const serverWide: WholePage = {
  status: 200,
  fields: [["Allow", "GET, HEAD, POST, OPTIONS"]],
  body: "",
};

/** The answer to a request that may go no further (RFC 9110, section 7.6.2); TRACE is not reflected, it would show passwords. */
export function lastStation({ method }: RequestHead): WholePage {
  if (method === "OPTIONS") return serverWide;
  return errorPage(new Http1Problem(501, "Cannot show a request to its sender"));
}

/** The answer to a client of a door with passwords that has none, or a wrong one (RFC 9110, section 11.7.1). */
export function passwordPage(): WholePage {
  const page = errorPage(
    new PosternError("auth", "Cannot serve the request without the right user and password", {
      hint: "put them into the proxy's URL: http://USER:PASSWORD@HOST:PORT",
    }),
  );
  const challenge = ["Proxy-Authenticate", 'Basic realm="postern", charset="UTF-8"'] as const;
  return { ...page, status: 407, fields: [...page.fields, challenge] };
}

import { PosternError } from "../../words/mod.ts";
import { encodeResponseHead, Http1Problem, type RequestHead } from "../../wire/mod.ts";
import { joinBytes } from "../../core/mod.ts";
import { errorPage, type PageResponse, type WholePage } from "../pages/page.ts";

export interface ResponseOptions {
  /** The method of the request; undefined for an unreadable request. */
  readonly method: string | undefined;
  /** Whether the connection accepts another request. */
  readonly keeps: boolean;
  readonly date: Date;
}

/** A page encoded as a response. */
export function answerBytes(page: WholePage, options: ResponseOptions): Uint8Array<ArrayBuffer> {
  const { status, body } = page;
  const bytes = typeof body === "string" ? encoder.encode(body) : body;
  const isEmpty = status === 204 || status === 304;
  const head = answerHead(page, isEmpty ? [] : [["Content-Length", String(bytes.length)]], options);
  return isEmpty || options.method === "HEAD" ? head : joinBytes([head, bytes]);
}

/** The response head, with the framing fields of the body. */
export function answerHead(
  { status, phrase, fields }: PageResponse,
  framing: readonly (readonly [name: string, value: string])[],
  { keeps, date }: ResponseOptions,
): Uint8Array<ArrayBuffer> {
  const connection = keeps ? "keep-alive" : "close";
  return encodeResponseHead({
    status,
    ...(phrase !== undefined && { reason: phrase }),
    fields: [...fields, ...framing, ["Date", date.toUTCString()], ["Connection", connection]],
  });
}

const encoder = new TextEncoder();

/** The answer to `OPTIONS *` (RFC 9110, section 9.3.7). */
export const serverWide: WholePage = {
  status: 200,
  fields: [["Allow", "GET, HEAD, POST, OPTIONS"]],
  body: "",
};

/**
 * The answer to a request with Max-Forwards 0 (RFC 9110, section 7.6.2). TRACE is not echoed: it would reveal
 * passwords.
 */
export function lastStation({ method }: RequestHead): WholePage {
  if (method === "OPTIONS") return serverWide;
  return errorPage(new Http1Problem(501, "Cannot serve TRACE: postern does not echo requests"));
}

/**
 * The answer to a missing or wrong password (RFC 9110, section 11.7.1). It keeps the usual phrase, by which some clients
 * recognize it.
 */
export function passwordPage(): WholePage {
  const { phrase: _phrase, ...page } = errorPage(
    new PosternError("auth", "Cannot serve the request: the user or password is missing or wrong", {
      hint: "put both in the proxy URL: http://USER:PASSWORD@HOST:PORT",
    }),
  );
  const challenge = ["Proxy-Authenticate", 'Basic realm="postern", charset="UTF-8"'] as const;
  return { ...page, status: 407, fields: [...page.fields, challenge] };
}

import { asCause, asPosternError } from "../../words/mod.ts";
import { answerStatus, type Fields } from "../../wire/mod.ts";
import { errorInfo } from "../../control/mod.ts";

/** The kind of listener that received the request; it decides what the client may see. */
export type PageAccess = "listener" | "admin" | "control";

export interface PageRequest {
  readonly method: string;
  /** The path as received, without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly fields: Fields;
  readonly body: Uint8Array<ArrayBuffer>;
  readonly access: PageAccess;
  /** Our own address on this connection, if known. */
  readonly local?: string;
}

export interface PageResponse {
  readonly status: number;
  /** Replaces the usual phrase of the status line. */
  readonly phrase?: string;
  /** Without Date, Content-Length, Transfer-Encoding and Connection, which the server adds. */
  readonly fields: readonly (readonly [name: string, value: string])[];
  /** A stream is sent piece by piece; the server ends it early when the client leaves. */
  readonly body: string | Uint8Array | AsyncIterable<Uint8Array>;
}

/** A page with a complete body. */
export type WholePage = PageResponse & { readonly body: string | Uint8Array };

/** Answers requests for pages. The caller turns an error into a response. */
export type Pages = (request: PageRequest, options: { signal: AbortSignal }) => Promise<PageResponse>;

export function textPage(text: string, status = 200): WholePage {
  return { status, fields: [["Content-Type", "text/plain; charset=utf-8"]], body: `${text}\n` };
}

export function jsonPage(value: unknown, status = 200): WholePage {
  return { status, fields: [["Content-Type", "application/json"]], body: `${JSON.stringify(value)}\n` };
}

/** The maximum length of a phrase in the status line. */
const mostPhrase = 120;

/**
 * An error as a page: message and hint as text, code and message in `Postern-Error`, and the message in the status line,
 * because wget, nc and Java show nothing else.
 */
export function errorPage(error: unknown): WholePage {
  const { code, message, hint, reason } = asPosternError(error);
  const page = textPage(hint === undefined ? message : `${message}\n${hint}`, answerStatus(error));
  return {
    ...page,
    phrase: phraseOf(asciiText(asCause(message)), asciiText(reason ?? "")),
    fields: [...page.fields, ["Postern-Error", asciiText(`${code}; ${message}`)]],
  };
}

/** A sentence within the limit. A long one keeps its end: that is the cause. */
function phraseOf(sentence: string, reason: string): string {
  if (sentence.length <= mostPhrase) return sentence;
  const end = reason !== "" && reason.length <= mostPhrase / 2 ? `...: ${reason}` : "...";
  return `${sentence.slice(0, mostPhrase - end.length)}${end}`;
}

/** Printable ASCII only: a line break would start another field. */
function asciiText(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, "?");
}

export function errorJson(error: unknown): WholePage {
  return jsonPage(errorInfo(error), answerStatus(error));
}

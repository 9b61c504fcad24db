import { asPosternError } from "../../words/mod.ts";
import { answerStatus, type Fields } from "../../wire/mod.ts";
import { errorInfo } from "../../control/mod.ts";

/** Through which kind of listener a page was asked for: it decides what the client may see. */
export type PageAccess = "listener" | "admin" | "control";

export interface PageRequest {
  readonly method: string;
  /** Without the query, as it came. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly fields: Fields;
  readonly body: Uint8Array<ArrayBuffer>;
  readonly access: PageAccess;
  /** Our own address on this connection, where there is one. */
  readonly local?: string;
}

export interface PageResponse {
  readonly status: number;
  /** Without Date, Content-Length, Transfer-Encoding and Connection, which the server writes. */
  readonly fields: readonly (readonly [name: string, value: string])[];
  /** A stream is sent piece by piece as it comes; it is ended early when the client goes away. */
  readonly body: string | Uint8Array | AsyncIterable<Uint8Array>;
}

/** A page that is there as a whole. */
export type WholePage = PageResponse & { readonly body: string | Uint8Array };

/** What answers requests for this very server. A failure becomes an answer too. */
export type Pages = (request: PageRequest, options: { signal: AbortSignal }) => Promise<PageResponse>;

/** A short text. */
export function textPage(text: string, status = 200): WholePage {
  return { status, fields: [["Content-Type", "text/plain; charset=utf-8"]], body: `${text}\n` };
}

/** A value for programs. */
export function jsonPage(value: unknown, status = 200): WholePage {
  return { status, fields: [["Content-Type", "application/json"]], body: `${JSON.stringify(value)}\n` };
}

/** An error as a page: the sentence, the hint, and both for programs in `Postern-Error`. */
export function errorPage(error: unknown): WholePage {
  const { code, message, hint } = asPosternError(error);
  const page = textPage(hint === undefined ? message : `${message}\n${hint}`, answerStatus(error));
  const sentence = `${code}; ${message}`.replace(/[^\x20-\x7e]/g, "?");
  return { ...page, fields: [...page.fields, ["Postern-Error", sentence]] };
}

/** An error for programs. */
export function errorJson(error: unknown): WholePage {
  return jsonPage(errorInfo(error), answerStatus(error));
}

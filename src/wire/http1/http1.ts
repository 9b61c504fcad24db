import type { Decode } from "../../core/mod.ts";
import { Fields } from "./fields.ts";
import { Http1Problem } from "./http1_problem.ts";
import {
  formatFields,
  isFieldValue,
  isToken,
  latin1,
  latin1Bytes,
  lineEnd,
  parseFields,
  quoted,
} from "./http1_text.ts";

/** The maximum size of a head, including its empty line, unless a reader sets another. */
const mostHead = 64 * 1024;

/** The limits of a head, in bytes. */
interface HeadLimits {
  /** The whole head, including its empty line. */
  readonly head: number;
  /** One line. */
  readonly line: number;
  /** The hint for a larger head. */
  readonly hint?: string;
}

const usualLimits: HeadLimits = { head: mostHead, line: mostHead };

export type HttpVersion = "1.0" | "1.1";

/** The request line and fields of a request, unchanged. */
export interface RequestHead {
  readonly method: string;
  /** Unchanged; `requestTarget()` parses it. */
  readonly target: string;
  readonly version: HttpVersion;
  readonly fields: Fields;
}

/** The status line and fields of a response, unchanged. */
export interface ResponseHead {
  readonly version: HttpVersion;
  readonly status: number;
  readonly reason: string;
  readonly fields: Fields;
}

/** Reads the head of a request (RFC 9112, section 3). Errors carry the status for the response. */
export function decodeRequestHead(bytes: Uint8Array<ArrayBuffer>): ReturnType<Decode<RequestHead>> {
  return requestHeadDecoder(usualLimits)(bytes);
}

/** Reads the head of a response (RFC 9112, section 4). */
export function decodeResponseHead(bytes: Uint8Array<ArrayBuffer>): ReturnType<Decode<ResponseHead>> {
  return responseHeadDecoder(usualLimits)(bytes);
}

/**
 * `decodeRequestHead` and `decodeResponseHead` with other limits, for one head. They remember the lines they have seen,
 * so a head that arrives in small pieces costs no more than one that arrives at once.
 */
export const headDecoders = { request: requestHeadDecoder, response: responseHeadDecoder } as const;

function requestHeadDecoder(limits: HeadLimits): Decode<RequestHead> {
  const section = new HeadSection(400, limits);
  return (bytes) => {
    const head = section.read(bytes, skipEmptyLines(bytes));
    return head && { value: requestHead(head.lines), used: head.used };
  };
}

function responseHeadDecoder(limits: HeadLimits): Decode<ResponseHead> {
  const section = new HeadSection(502, limits);
  return (bytes) => {
    const head = section.read(bytes, 0);
    return head && { value: responseHead(head.lines), used: head.used };
  };
}

function requestHead(lines: string): RequestHead {
  const end = lines.indexOf("\r\n");
  const afterMethod = lines.indexOf(" ");
  const afterTarget = lines.indexOf(" ", afterMethod + 1);
  const method = lines.slice(0, afterMethod);
  const target = lines.slice(afterMethod + 1, afterTarget);
  if (
    afterMethod < 1 || afterTarget < 0 || !isToken(method) || !targetText.test(target)
  ) {
    throw new Http1Problem(400, `Cannot read the request line ${quoted(lines.slice(0, end))}`);
  }
  const version = readVersion(lines.slice(afterTarget + 1, end), 505, 400);
  const fields = parseFields(lines, end + 2, 400);
  checkHost(target, version, fields);
  return { method, target, version, fields };
}

function responseHead(lines: string): ResponseHead {
  const end = lines.indexOf("\r\n");
  const line = lines.slice(0, end);
  const version = readVersion(line.slice(0, 8), 502, 502);
  // A server may omit the space before an empty reason; many do.
  const match = /^ ([1-9][0-9]{2})(?: (.*))?$/.exec(line.slice(8));
  if (!match || !isFieldValue(line)) {
    throw new Http1Problem(502, `Cannot read the status line ${quoted(line)}`);
  }
  const fields = parseFields(lines, end + 2, 502);
  return { version, status: Number(match[1]), reason: match[2] ?? "", fields };
}

/** Encodes the head of a request (default version: 1.1). */
export function encodeRequestHead(
  { method, target, version = "1.1", fields }: {
    readonly method: string;
    readonly target: string;
    readonly version?: HttpVersion;
    readonly fields: Iterable<readonly [string, string]>;
  },
): Uint8Array<ArrayBuffer> {
  if (!isToken(method) || !targetText.test(target)) {
    throw new Http1Problem(400, `Cannot write the request line ${quoted(`${method} ${target}`)}`);
  }
  return latin1Bytes(`${method} ${target} HTTP/${version}\r\n${formatFields(fields)}\r\n`);
}

/** Encodes the head of a response (defaults: version 1.1, the usual reason). */
export function encodeResponseHead(
  { version = "1.1", status, reason = reasonPhrase(status), fields }: {
    readonly version?: HttpVersion;
    readonly status: number;
    readonly reason?: string;
    readonly fields: Iterable<readonly [string, string]>;
  },
): Uint8Array<ArrayBuffer> {
  if (!Number.isInteger(status) || status < 100 || status > 999 || !isFieldValue(reason)) {
    throw new Http1Problem(502, `Cannot write the status line ${quoted(`${status} ${reason}`)}`);
  }
  return latin1Bytes(`HTTP/${version} ${status} ${reason}\r\n${formatFields(fields)}\r\n`);
}

/** The usual reason of a status. */
export function reasonPhrase(status: number): string {
  return reasons[status] ?? "";
}

/** Whether the sender keeps the connection after this message (RFC 9112, section 9.3). */
export function isPersistent({ version, fields }: Pick<RequestHead, "version" | "fields">): boolean {
  const options = fields.tokens("connection");
  if (options.includes("close")) return false;
  return version === "1.1" || options.includes("keep-alive");
}

/**
 * Spaces and control characters would break the request line; bytes over 127 violate the RFC but are
 * harmless.
 */
const targetText = /^[\x21-\x7e\x80-\xff]+$/;

const reasons: Readonly<Record<number, string>> = {
  100: "Continue",
  101: "Switching Protocols",
  200: "OK",
  202: "Accepted",
  204: "No Content",
  302: "Found",
  304: "Not Modified",
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  407: "Proxy Authentication Required",
  408: "Request Timeout",
  411: "Length Required",
  413: "Content Too Large",
  414: "URI Too Long",
  417: "Expectation Failed",
  421: "Misdirected Request",
  426: "Upgrade Required",
  429: "Too Many Requests",
  431: "Request Header Fields Too Large",
  500: "Internal Server Error",
  501: "Not Implemented",
  502: "Bad Gateway",
  503: "Service Unavailable",
  504: "Gateway Timeout",
  505: "HTTP Version Not Supported",
};

/** Finds the end of one head that may arrive in pieces. */
class HeadSection {
  readonly #status: number;
  readonly #limits: HeadLimits;
  /** The start of the line that has not ended yet. */
  #line = 0;

  constructor(status: 400 | 502, limits: HeadLimits) {
    this.#status = status;
    this.#limits = limits;
  }

  /** Returns the lines without the final empty one; undefined until the empty line has arrived. */
  read(bytes: Uint8Array, start: number): { lines: string; used: number } | undefined {
    const { head, line: mostLine } = this.#limits;
    let from = Math.max(start, this.#line);
    while (true) {
      const end = lineEnd(bytes, from, this.#status);
      if ((end ?? bytes.length) - from > mostLine) {
        throw this.#tooLarge(`a line of more than ${mostLine} bytes`);
      }
      if ((end ?? bytes.length + 1) > head) throw this.#tooLarge(`a head of more than ${head} bytes`);
      this.#line = from;
      if (end === undefined) return undefined;
      if (end === from + 2) return { lines: latin1(bytes, start, end - 2), used: end };
      from = end;
    }
  }

  #tooLarge(what: string): Http1Problem {
    const { hint } = this.#limits;
    const status = this.#status === 400 ? 431 : this.#status;
    return new Http1Problem(status, `Cannot read ${what}`, hint === undefined ? {} : { hint });
  }
}

/** Skips empty lines, which old clients send after a body (RFC 9112, section 2.2). */
function skipEmptyLines(bytes: Uint8Array): number {
  let at = 0;
  while (at < 8 && bytes[at] === 13 && bytes[at + 1] === 10) at += 2;
  return at;
}

function readVersion(text: string, other: number, malformed: number): HttpVersion {
  if (text === "HTTP/1.1") return "1.1";
  if (text === "HTTP/1.0") return "1.0";
  // A newer minor version is read as the newest known one (RFC 9110, section 2.5).
  if (/^HTTP\/1\.[2-9]$/.test(text)) return "1.1";
  if (/^HTTP\/[0-9]\.[0-9]$/.test(text)) {
    throw new Http1Problem(other, `Cannot handle ${text}`, { hint: "use HTTP/1.1" });
  }
  throw new Http1Problem(malformed, `Cannot read the HTTP version ${quoted(text)}`);
}

/**
 * At most one Host, and exactly one in HTTP/1.1 (RFC 9112, section 3.2). It may be missing when the request
 * line names the host: it would be unused, and small CONNECT clients omit it.
 */
function checkHost(target: string, version: HttpVersion, fields: Fields): void {
  const hosts = fields.all("host");
  if (hosts.length > 1) throw new Http1Problem(400, "Cannot serve a request with more than one Host");
  if (hosts.length === 0 && version === "1.1" && (target.startsWith("/") || target === "*")) {
    throw new Http1Problem(400, "Cannot serve an HTTP/1.1 request without Host");
  }
}

import { blanksBefore, isBlank, trimmed } from "./blanks.ts";
import { Fields } from "./fields.ts";
import { Http1Problem } from "./http1_problem.ts";

/** The maximum number of fields of one head. */
const mostFields = 1000;

const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const fieldValue = /^[\t\x20-\x7e\x80-\xff]*$/;
const cr = 13;
const lf = 10;

/** Whether a text is a valid method or field name (RFC 9110, section 5.6.2). */
export function isToken(text: string): boolean {
  return token.test(text);
}

/** Whether a text is a valid field value: no NUL, no line break, only Latin-1. */
export function isFieldValue(text: string): boolean {
  return fieldValue.test(text);
}

/** The end of lines up to an empty one; undefined until the empty line has arrived. */
export function sectionEnd(bytes: Uint8Array, start: number, status: number): number | undefined {
  let line = start;
  while (true) {
    const end = lineEnd(bytes, line, status);
    if (end === undefined || end === line + 2) return end;
    line = end;
  }
}

/**
 * The end of a line; undefined until it has arrived. RFC 9112 section 2.2 allows a bare LF as a line end. postern
 * rejects it: parties that split lines differently allow request smuggling.
 */
export function lineEnd(bytes: Uint8Array, start: number, status: number): number | undefined {
  const end = bytes.indexOf(lf, start);
  if (end < 0) return undefined;
  if (end === start || bytes[end - 1] !== cr) {
    throw new Http1Problem(status, "Cannot read the HTTP message: a line ends with LF instead of CR LF");
  }
  return end + 1;
}

/**
 * Decodes bytes with one character per byte, so that encoding restores them, whatever their real encoding is.
 */
export function latin1(bytes: Uint8Array, start: number, end: number): string {
  // Seven times as fast, and correct for all usual heads: only plain ASCII keeps its length without a U+FFFD.
  const plain = decoder.decode(bytes.subarray(start, end));
  if (plain.length === end - start && !plain.includes("\ufffd")) return plain;
  let text = "";
  for (let at = start; at < end; at++) text += String.fromCharCode(bytes[at] ?? 0);
  return text;
}

/** The inverse of `latin1`. */
export function latin1Bytes(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(text.length);
  const { read, written } = encoder.encodeInto(text, bytes);
  if (read === text.length && written === text.length) return bytes;
  for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at);
  return bytes;
}

const decoder = new TextDecoder();
const encoder = new TextEncoder();

/**
 * Reads field lines (RFC 9112, section 5), each ending with CR LF; `status` is the HTTP status for a malformed one. A
 * folded line of a response becomes one line (section 5.2): old servers send them, and only requests can be smuggled.
 */
export function parseFields(lines: string, start: number, status: number, most: number = mostFields): Fields {
  const entries: [string, string][] = [];
  let at = start;
  for (let count = 0; at < lines.length; count++) {
    if (count === most) {
      throw new Http1Problem(status === 400 ? 431 : status, `Cannot read the head: more than ${most} fields`);
    }
    const end = lines.indexOf("\r\n", at);
    const last = entries.at(-1);
    if (status === 502 && last && isBlank(lines.charCodeAt(at))) {
      const more = fieldText(last[0], trimmed(lines, at, end), status);
      last[1] += last[1] === "" || more === "" ? more : ` ${more}`;
      at = end + 2;
      continue;
    }
    const colon = lines.indexOf(":", at);
    // Do not quote the line: it may be the rest of a password with a line break.
    if (colon < 0 || colon > end) {
      throw isBlank(lines.charCodeAt(at))
        ? foldedLine(status)
        : new Http1Problem(status, "Cannot read the head: a field without a colon");
    }
    // A proxy removes such whitespace from a response, never from a request (RFC 9112, section 5.1).
    const name = lines.slice(at, status === 400 ? colon : blanksBefore(lines, at, colon));
    if (!token.test(name)) throw badName(name, status);
    const value = fieldText(name, trimmed(lines, colon + 1, end), status);
    entries.push([name, value]);
    at = end + 2;
  }
  return new Fields(entries);
}

/** Encodes field lines, each with its CR LF; rejects a name or value that would break its line. */
export function formatFields(fields: Iterable<readonly [string, string]>): string {
  let text = "";
  for (const [name, value] of fields) {
    if (!token.test(name) || !fieldValue.test(value)) {
      throw new Http1Problem(
        400,
        `Cannot write the field ${quoted(name)}: it contains an invalid character`,
      );
    }
    text += `${name}: ${value}\r\n`;
  }
  return text;
}

/** Quotes a text for an error message: shortened, and without possible passwords. */
export function quoted(text: string): string {
  const [start, rest] = [text.slice(0, mostQuoted), text.slice(mostQuoted)];
  // The text after the cut may be the end of a password, such as a long token.
  const whole = /^\S*@/.test(rest) ? start.replace(userToEnd, "$1…@") : start;
  const shown = whole.replace(user, "$1…@");
  return JSON.stringify(shown.length > 100 ? `${shown.slice(0, 100)}…` : shown);
}

/** The maximum length before passwords are masked, which takes quadratic time. */
const mostQuoted = 300;
/** The text before the last `@` of a word, after the scheme: a password may contain `/` that is not escaped. */
const user = /((?:^|\s)(?:[A-Za-z][A-Za-z0-9+.-]*:\/\/)?)\S*@/g;
const userToEnd = /((?:^|\s)(?:[A-Za-z][A-Za-z0-9+.-]*:\/\/)?)\S*$/;

function fieldText(name: string, value: string, status: number): string {
  if (fieldValue.test(value)) return value;
  throw new Http1Problem(status, `Cannot read the field ${name}: a control character in its value`);
}

function badName(name: string, status: number): Http1Problem {
  if (/^[ \t]/.test(name)) return foldedLine(status);
  if (/[ \t]$/.test(name)) {
    return new Http1Problem(
      status,
      `Cannot read the field ${quoted(name.trim())}: whitespace before the colon`,
    );
  }
  return new Http1Problem(status, `Cannot read the field ${quoted(name)}: not a field name`);
}

function foldedLine(status: number): Http1Problem {
  return new Http1Problem(status, "Cannot read the head: a folded field line");
}

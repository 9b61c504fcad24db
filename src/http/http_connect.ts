import { type Bytes, type Conn, Messages, plainText } from "../core/mod.ts";
import { type ErrorCode, formatTarget, PosternError, type Target, toldOf } from "../words/mod.ts";
import { type BasicCredentials, encodeBasic, encodeRequestHead, type ResponseHead } from "../wire/mod.ts";
import { dialCode } from "./dial_words.ts";
import { noAnswer, readFinalHead } from "./final_head.ts";
import { type Asking, proxySignInFailure } from "./proxy_asking.ts";

export interface ConnectAsking extends Asking {
  /**
   * Whether the proxy may forward the target's first bytes before its response, and explains a rejection in
   * the response body. The Konnectivity server of Kubernetes does both.
   */
  readonly isKonnectivity?: boolean;
}

/**
 * Requests a tunnel to the target from an HTTP proxy (RFC 9110, section 9.3.6). Returns the tunnel, or the
 * proxy's error about the target. Throws when the proxy itself fails. The responses are explained in
 * docs/decisions/http.md.
 */
export async function httpConnect(conn: Conn, asking: ConnectAsking): Promise<Conn | PosternError> {
  const { target, proxy, credentials, isKonnectivity = false } = asking;
  const authority = formatTarget(target);
  const fields = [["Host", authority] as const, ...proxyAuthorization(credentials)];
  await conn.write(encodeRequestHead({ method: "CONNECT", target: authority, fields }));
  const messages = new Messages(conn, { limit: mostAhead, initial: 1024 });
  const ahead = isKonnectivity ? await bytesAhead(messages, proxy) : undefined;
  const head = await readFinalHead(messages, { from: proxy });
  if (head.status < 200 || head.status > 299) {
    return refusal(head, asking, isKonnectivity ? await wordsOf(head, messages) : "");
  }
  // All further bytes come from the target, even if the head claims a length.
  if (ahead) messages.putBack(ahead);
  return messages.goOn();
}

/** The header field with the proxy's credentials. */
export function proxyAuthorization(
  credentials: BasicCredentials | undefined,
): (readonly [name: string, value: string])[] {
  return credentials ? [["Proxy-Authorization", encodeBasic(credentials)]] : [];
}

/**
 * Throws for a rejected sign-in, which affects every target; otherwise returns the error about this target.
 */
function refusal(head: ResponseHead, asking: Asking, words: string): PosternError {
  const { status, fields } = head;
  if (status === 407 || status === 401) {
    const offered = fields.all("proxy-authenticate").map((value) => plainText(value.split(/[\s,]/)[0] ?? ""));
    const takesBasic = offered.length === 0 || offered.some((scheme) => scheme.toLowerCase() === "basic");
    if (takesBasic || status === 401) throw proxySignInFailure(asking, String(status));
    throw new PosternError("auth", `Cannot sign in at ${asking.proxy}`, {
      reason: `it requires ${offered.join(" or ")}, not Basic`,
      hint: "use a local proxy that supports this sign-in, such as cntlm or px",
    });
  }
  const { target, proxy } = asking;
  const { code, reason } = meaning(head, target, words);
  return new PosternError(code, `Cannot reach ${formatTarget(target)} through ${proxy}: ${reason}`);
}

/** The codes to pass on from another postern: its statement about the target also holds here. */
const handedOn: ReadonlySet<string> = new Set<ErrorCode>([
  "not_allowed",
  "no_route",
  "name_not_found",
  "refused",
  "unreachable",
  "timeout",
]);

function meaning(
  { status, reason, fields }: ResponseHead,
  target: Target,
  words: string,
): { readonly code: ErrorCode; readonly reason: string } {
  const [, code = "", sentence = ""] = /^([a-z_]+); *(.*)$/.exec(fields.get("postern-error") ?? "") ?? [];
  if (isHandedOn(code)) return { code, reason: toldOf(target, plainText(sentence)) };
  const more = fields.get("x-squid-error");
  const answer = plainText(`it answered ${status} ${reason}`.trimEnd() + (more ? ` (${more})` : ""));
  return { code: dialCode(words) ?? codeOf(status), reason: words === "" ? answer : toldOf(target, words) };
}

function isHandedOn(code: string): code is ErrorCode {
  return handedOn.has(code);
}

function codeOf(status: number): ErrorCode {
  if (status === 403 || status === 405) return "not_allowed";
  if (status === 504 || status === 408) return "timeout";
  return status >= 500 || status === 404 || status === 429 ? "unreachable" : "protocol";
}

/**
 * Returns the target's bytes before the response. The Konnectivity server of Kubernetes may forward a
 * target's first bytes before it confirms the connection.
 */
async function bytesAhead(messages: Messages, proxy: string): Promise<Bytes> {
  while (true) {
    const at = beginningOf(messages.pending);
    if (at !== undefined) return messages.take(at).slice();
    if (messages.pending.length < mostAhead && await messages.fill()) continue;
    if (messages.pending.length === 0) throw noAnswer(proxy);
    throw new PosternError("protocol", `Cannot use ${proxy}`, {
      reason: "it sent a target's data without a response",
      hint: "set mode: grpc, where no data precedes the response",
    });
  }
}

/** The start of the response: `HTTP/1.1 ` and a status; undefined when more bytes are needed. */
function beginningOf(bytes: Uint8Array): number | undefined {
  for (let at = 0; at + answerStart.length + 3 <= bytes.length; at++) {
    if (bytes[at] !== answerStart[0]) continue;
    const text = String.fromCharCode(...bytes.subarray(at, at + answerStart.length + 3));
    if (/^HTTP\/1\.[01] [1-5]\d\d$/.test(text)) return at;
  }
  return undefined;
}

const answerStart = new TextEncoder().encode("HTTP/1.1 ");

/** Reads the reason from the body, which ends with the connection if it has no length. */
async function wordsOf({ fields }: ResponseHead, messages: Messages): Promise<string> {
  const told = fields.get("content-length") ?? "";
  const wanted = /^\d+$/.test(told) ? Math.min(Number(told), mostWords) : mostWords;
  while (messages.pending.length < wanted && await messages.fill().catch(() => false));
  const said = new TextDecoder().decode(messages.pending.subarray(0, 300));
  return said.replace(/[^\x20-\x7e]+/g, " ").trim();
}

/** The maximum size of a head, and of the data before it. */
const mostAhead = 64 * 1024;
/** The maximum length of a reason, in bytes. */
const mostWords = 1000;

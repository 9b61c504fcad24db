import { type Bytes, type Conn, Messages, plainText } from "../core/mod.ts";
import { type ErrorCode, formatTarget, PosternError, type Target, toldOf } from "../words/mod.ts";
import { type BasicCredentials, encodeBasic, encodeRequestHead, type ResponseHead } from "../wire/mod.ts";
import { dialCode } from "./dial_words.ts";
import { noAnswer, readFinalHead } from "./final_head.ts";
import { type Asking, proxySignInFailure } from "./proxy_asking.ts";

export interface ConnectAsking extends Asking {
  /**
   * Whether the proxy may pass on the target's first bytes before its own answer, and says in the answer's body why it
   * refuses: the Konnectivity server of Kubernetes does both.
   */
  readonly isKonnectivity?: boolean;
}

/**
 * Asks an HTTP proxy for a tunnel to the target (RFC 9110, section 9.3.6): the tunnel, or what the proxy says of the
 * target. Throws where it is the proxy that fails. What its answers mean: docs/decisions/http.md.
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
  // What follows is the target's, whatever length the head claims.
  if (ahead) messages.putBack(ahead);
  return messages.goOn();
}

/** The field by which we sign in at a proxy. */
export function proxyAuthorization(
  credentials: BasicCredentials | undefined,
): (readonly [name: string, value: string])[] {
  return credentials ? [["Proxy-Authorization", encodeBasic(credentials)]] : [];
}

/** A proxy that does not let us in fails for every target. */
function refusal(head: ResponseHead, asking: Asking, words: string): PosternError {
  const { status, fields } = head;
  if (status === 407 || status === 401) {
    const offered = fields.all("proxy-authenticate").map((value) => plainText(value.split(/[\s,]/)[0] ?? ""));
    const takesBasic = offered.length === 0 || offered.some((scheme) => scheme.toLowerCase() === "basic");
    if (takesBasic || status === 401) throw proxySignInFailure(asking, String(status));
    throw new PosternError("auth", `Cannot sign in at ${asking.proxy}`, {
      reason: `it wants ${offered.join(" or ")}, not Basic`,
      hint: "have a proxy stand before it that signs in this way, such as cntlm or px",
    });
  }
  const { target, proxy } = asking;
  const { code, reason } = meaning(head, target, words);
  return new PosternError(code, `Cannot reach ${formatTarget(target)} through ${proxy}: ${reason}`);
}

/** The codes that another postern's answer may hand on: what they say of the target is true here too. */
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
 * What came before the answer. The Konnectivity server of Kubernetes may pass on what a target says before it has
 * said itself that the target is reached; these bytes are the target's first ones.
 */
async function bytesAhead(messages: Messages, proxy: string): Promise<Bytes> {
  while (true) {
    const at = beginningOf(messages.pending);
    if (at !== undefined) return messages.take(at).slice();
    if (messages.pending.length < mostAhead && await messages.fill()) continue;
    if (messages.pending.length === 0) throw noAnswer(proxy);
    throw new PosternError("protocol", `Cannot go on with ${proxy}`, {
      reason: "it sends a target's bytes and no answer",
      hint: "use mode: grpc, where no bytes come ahead of the answer",
    });
  }
}

/** Where the answer begins: `HTTP/1.1 ` and a status; undefined where more is to come. */
function beginningOf(bytes: Uint8Array): number | undefined {
  for (let at = 0; at + answerStart.length + 3 <= bytes.length; at++) {
    if (bytes[at] !== answerStart[0]) continue;
    const text = String.fromCharCode(...bytes.subarray(at, at + answerStart.length + 3));
    if (/^HTTP\/1\.[01] [1-5]\d\d$/.test(text)) return at;
  }
  return undefined;
}

const answerStart = new TextEncoder().encode("HTTP/1.1 ");

/** The reason in the body, which ends with the connection where its length is not told. */
async function wordsOf({ fields }: ResponseHead, messages: Messages): Promise<string> {
  const told = fields.get("content-length") ?? "";
  const wanted = /^\d+$/.test(told) ? Math.min(Number(told), mostWords) : mostWords;
  while (messages.pending.length < wanted && await messages.fill().catch(() => false));
  const said = new TextDecoder().decode(messages.pending.subarray(0, 300));
  return said.replace(/[^\x20-\x7e]+/g, " ").trim();
}

/** The most bytes of a head, and of what may come before it. */
const mostAhead = 64 * 1024;
/** How many bytes of a reason are waited for. */
const mostWords = 1000;

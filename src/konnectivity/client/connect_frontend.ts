import { type Conn, type DialOptions, Messages, whenAborted } from "../../core/mod.ts";
import { type ErrorCode, formatTarget, PosternError, type Target } from "../../words/mod.ts";
import { decodeResponseHead, encodeRequestHead, type ResponseHead } from "../../wire/mod.ts";
import type { FrontendReach } from "./reach_frontend.ts";

/** Dials through a server's HTTP CONNECT frontend: a connection to the server for each dial. */
export async function dialByConnect(
  reach: FrontendReach,
  target: Target,
  { signal, onStep }: DialOptions,
): Promise<Conn> {
  const conn = await reach.connect([], { signal, onStep });
  using _drop = whenAborted(signal, () => conn.abort(signal.reason));
  try {
    onStep?.(`reached ${reach.label}`);
    const authority = formatTarget(target);
    await conn.write(
      encodeRequestHead({ method: "CONNECT", target: authority, fields: [["Host", authority]] }),
    );
    const messages = new Messages(conn, { limit: mostAhead, initial: 1024 });
    const ahead = await bytesAhead(messages, reach.label);
    const head = await messages.read(decodeResponseHead);
    if (!head) throw ended(reach.label);
    if (head.status !== 200) throw await refusal(head, messages, { target, label: reach.label });
    messages.putBack(ahead);
    return messages.goOn();
  } catch (error) {
    conn.abort(error);
    signal.throwIfAborted();
    throw error;
  }
}

/**
 * What came before the answer. The Konnectivity server of Kubernetes may pass on what a target says before it has
 * said itself that the target is reached; these bytes are the target's first ones.
 */
async function bytesAhead(messages: Messages, label: string): Promise<Uint8Array<ArrayBuffer>> {
  while (true) {
    const at = beginningOf(messages.pending);
    if (at !== undefined) return messages.take(at).slice();
    if (messages.pending.length >= mostAhead) {
      throw new PosternError(
        "protocol",
        `Cannot go on with ${label}: it sends a target's bytes and no answer`,
        {
          hint: "use mode: grpc, where no bytes come ahead of the answer",
        },
      );
    }
    if (!await messages.fill()) throw ended(label);
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

/** The server tells the reason in the body, which ends with the connection where its length is not told. */
async function refusal(
  { status, fields }: ResponseHead,
  messages: Messages,
  { target, label }: { target: Target; label: string },
): Promise<PosternError> {
  const told = fields.get("content-length") ?? "";
  const wanted = /^\d+$/.test(told) ? Math.min(Number(told), mostWords) : mostWords;
  while (messages.pending.length < wanted && await messages.fill().catch(() => false));
  const said = new TextDecoder().decode(messages.pending.subarray(0, 300));
  const text = said.replace(/[^\x20-\x7e]+/g, " ").trim();
  const words = text || `it answered ${status}`;
  return new PosternError(
    codeOf(status, text),
    `Cannot reach ${formatTarget(target)} through ${label}: ${words}`,
  );
}

function codeOf(status: number, text: string): ErrorCode {
  if (/connection refused/i.test(text)) return "refused";
  if (/no such host|server misbehaving/i.test(text)) return "name_not_found";
  if (status === 504 || /i\/o timeout|timed? ?out|deadline/i.test(text)) return "timeout";
  if (status === 403 || status === 405) return "not_allowed";
  return status >= 500 ? "unreachable" : "protocol";
}

function ended(label: string): PosternError {
  return new PosternError("unreachable", `${label} ended the connection without an answer`, {
    detail: "reset",
  });
}

const mostAhead = 64 * 1024;
/** How many bytes of a reason are waited for. */
const mostWords = 1000;

import { type Conn, Messages, plainText } from "../core/mod.ts";
import { type ErrorCode, formatTarget, PosternError } from "../words/mod.ts";
import {
  encodeBasic,
  encodeRequestHead,
  finalHeadDecoder,
  mostHead,
  type ResponseHead,
} from "../wire/mod.ts";
import { type Asking, noAnswer } from "./proxy_asking.ts";

/** Asks an HTTP proxy for a tunnel to the target (RFC 9110, section 9.3.6): the tunnel, or why there is none. */
export async function httpConnect(conn: Conn, asking: Asking): Promise<Conn | PosternError> {
  const { target, credentials } = asking;
  const authority = formatTarget(target);
  const fields: [string, string][] = [["Host", authority]];
  if (credentials) fields.push(["Proxy-Authorization", encodeBasic(credentials)]);
  await conn.write(encodeRequestHead({ method: "CONNECT", target: authority, fields }));
  const messages = new Messages(conn, { limit: mostHead, initial: 1024 });
  const head = await messages.read(finalHeadDecoder());
  if (!head) throw noAnswer();
  if (head.status === 407 || head.status === 401) throw signInFailure(head, asking);
  if (head.status < 200 || head.status > 299) return refusal(head, asking);
  // What follows is the target's, whatever length the head claims.
  return messages.goOn();
}

function signInFailure({ status, fields }: ResponseHead, { proxy, credentials }: Asking): PosternError {
  const offered = fields.all("proxy-authenticate").map((value) => plainText(value.split(/[\s,]/)[0] ?? ""));
  const takesBasic = offered.length === 0 || offered.some((scheme) => scheme.toLowerCase() === "basic");
  if (status === 407 && !takesBasic) {
    return new PosternError(
      "auth",
      `Cannot sign in at ${proxy}: it wants ${offered.join(" or ")}, not Basic`,
      { hint: "have a proxy stand before it that signs in this way, such as cntlm or px" },
    );
  }
  if (credentials) {
    return new PosternError("auth", `Cannot sign in at ${proxy}: it refused the user name or the password`, {
      hint: "correct user and passwordFile beside its url; they are not those of the door",
    });
  }
  return new PosternError("auth", `Cannot sign in at ${proxy}: it wants a user name and a password`, {
    hint: "set user and passwordFile beside its url",
  });
}

function refusal(head: ResponseHead, { target, proxy }: Asking): PosternError {
  const { code, says } = meaning(head);
  return new PosternError(code, `Cannot reach ${formatTarget(target)} through ${proxy}: ${says}`);
}

/** The codes that another door's answer may hand on: what they say of the target is true here too. */
const handedOn: ReadonlySet<string> = new Set<ErrorCode>([
  "not_allowed",
  "no_route",
  "name_not_found",
  "refused",
  "unreachable",
  "timeout",
]);

function meaning({ status, reason, fields }: ResponseHead): { code: ErrorCode; says: string } {
  const [, code = "", sentence = ""] = /^([a-z_]+); *(.*)$/.exec(fields.get("postern-error") ?? "") ?? [];
  if (isHandedOn(code)) return { code, says: plainText(sentence) };
  const more = fields.get("x-squid-error");
  const says = plainText(`it answered ${status} ${reason}`.trimEnd() + (more ? ` (${more})` : ""));
  if (status === 403 || status === 405) return { code: "not_allowed", says };
  if (status === 504 || status === 408) return { code: "timeout", says };
  return { code: status >= 500 || status === 404 || status === 429 ? "unreachable" : "protocol", says };
}

function isHandedOn(code: string): code is ErrorCode {
  return handedOn.has(code);
}

import { type Conn, type Decode, Messages } from "../core/mod.ts";
import { type ErrorCode, type ErrorDetail, formatTarget, PosternError, type Target } from "../words/mod.ts";
import {
  decodeSocks5Choice,
  decodeSocks5Reply,
  decodeSocks5Verdict,
  encodeSocks5Credentials,
  encodeSocks5Greeting,
  encodeSocks5Request,
  socks5Commands,
  socks5Methods,
} from "../wire/mod.ts";
import { noAnswer } from "./final_head.ts";
import { type Asking, proxySignInFailure } from "./proxy_asking.ts";

/**
 * Requests a connection to the target from a SOCKS5 proxy (RFC 1928), with unresolved names. Returns the
 * tunnel or the proxy's error about the target.
 */
export async function socks5Connect(
  conn: Conn,
  asking: Asking,
): Promise<Conn | PosternError> {
  const { target, proxy } = asking;
  const messages = await signedIn(conn, asking);
  await conn.write(encodeSocks5Request({ command: socks5Commands.connect, target }));
  const { code } = await answer(messages, decodeOutcome, proxy);
  if (code !== 0) return refusal(code, target, proxy);
  return messages.goOn();
}

/** Requests a relay for datagrams; returns its address and the connection that keeps it open. */
export async function socks5Associate(
  conn: Conn,
  asking: Omit<Asking, "target">,
): Promise<{ readonly bound: Target; readonly conn: Conn }> {
  const { proxy } = asking;
  const messages = await signedIn(conn, asking);
  // The proxy may see another address than we do, so it learns ours from the first datagram.
  const target = { host: "0.0.0.0", port: 0 };
  await conn.write(encodeSocks5Request({ command: socks5Commands.associate, target }));
  const { code, bound = target } = await answer(messages, decodeOutcome, proxy);
  if (code === 0) return { bound, conn: messages.goOn() };
  const { code: kind = "protocol", says = `unknown reply ${code}` } = refusedRelay[code] ?? meanings[code] ??
    {};
  throw new PosternError(kind, `Cannot relay UDP through ${proxy}`, { reason: says });
}

/** Agrees with the proxy on a method, and signs in. */
async function signedIn(conn: Conn, asking: Omit<Asking, "target">): Promise<Messages> {
  const { proxy, credentials } = asking;
  const messages = new Messages(conn, { limit: 1024, initial: 128 });
  const offered = credentials ? [socks5Methods.none, socks5Methods.password] : [socks5Methods.none];
  await conn.write(encodeSocks5Greeting({ methods: offered }));
  const chosen = await answer(messages, decodeSocks5Choice, proxy);
  if (chosen === socks5Methods.password && credentials) {
    await conn.write(encodeSocks5Credentials(credentials));
    if (!await answer(messages, decodeSocks5Verdict, proxy)) throw proxySignInFailure(asking);
  } else if (chosen !== socks5Methods.none) {
    throw asking.credentials
      ? new PosternError("auth", `Cannot sign in at ${asking.proxy}`, {
        reason: "it requires another sign-in method",
        hint: "configure the proxy to accept a user name and password",
      })
      : proxySignInFailure(asking);
  }
  return messages;
}

/** Decides an error reply by its second byte; many servers send invalid data after it. */
const decodeOutcome: Decode<{ readonly code: number; readonly bound?: Target }> = (bytes) => {
  const [version, code] = bytes;
  if (version === 5 && code !== undefined && code !== 0) return { value: { code }, used: bytes.length };
  return decodeSocks5Reply(bytes);
};

async function answer<T>(messages: Messages, decode: Decode<T>, proxy: string): Promise<T> {
  const value = await messages.read(decode);
  if (value === undefined) throw noAnswer(proxy);
  return value;
}

interface Meaning {
  readonly code: ErrorCode;
  readonly says: string;
  readonly detail?: ErrorDetail;
}

/** The meaning of the replies (RFC 1928, section 6). */
const meanings: Readonly<Record<number, Meaning>> = {
  1: { code: "unreachable", says: "general failure" },
  2: { code: "not_allowed", says: "its rules do not allow this target" },
  3: { code: "unreachable", says: "network unreachable", detail: "network" },
  4: { code: "unreachable", says: "host unreachable", detail: "host" },
  5: { code: "refused", says: "connection refused" },
  6: { code: "timeout", says: "timeout" },
  7: { code: "protocol", says: "it does not support CONNECT", detail: "command" },
  8: { code: "protocol", says: "it does not support this address type", detail: "address_type" },
};

/** The meaning of replies to UDP ASSOCIATE that differ. */
const refusedRelay: Readonly<Record<number, Meaning>> = {
  2: { code: "not_allowed", says: "its rules do not allow UDP" },
  7: { code: "not_allowed", says: "it does not support UDP ASSOCIATE" },
};

function refusal(reply: number, target: Target, proxy: string): PosternError {
  const { code, says, detail } = meanings[reply] ?? { code: "protocol", says: `unknown reply ${reply}` };
  return new PosternError(code, `Cannot reach ${formatTarget(target)} through ${proxy}: ${says}`, {
    detail,
  });
}

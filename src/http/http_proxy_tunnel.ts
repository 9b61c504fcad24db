import { type Conn, Messages, plainText, whenAborted } from "../core/mod.ts";
import { formatTarget, PosternError, type Target } from "../words/mod.ts";
import { type BasicCredentials, encodeBasic, encodeRequestHead, finalHeadDecoder } from "../wire/mod.ts";

/** A proxy that an `HttpClient` goes through. */
export interface HttpProxy {
  /** Whether TLS is spoken with the proxy itself. */
  readonly scheme: "http" | "https";
  readonly host: string;
  readonly port: number;
  readonly credentials?: BasicCredentials;
}

/** The field by which we sign in, where there is somebody to be. */
export function proxyAuthorization({ credentials }: HttpProxy): [name: string, value: string][] {
  return credentials ? [["Proxy-Authorization", encodeBasic(credentials)]] : [];
}

/** Asks a proxy for a tunnel to the target (RFC 9110, section 9.3.6). The connection is given up where there is none. */
export async function openTunnel(
  conn: Conn,
  { proxy, target, signal }: { readonly proxy: HttpProxy; readonly target: Target; signal: AbortSignal },
): Promise<Conn> {
  using _drop = whenAborted(signal, () => conn.abort(signal.reason));
  try {
    const authority = formatTarget(target);
    const fields = [["Host", authority] as const, ...proxyAuthorization(proxy)];
    await conn.write(encodeRequestHead({ method: "CONNECT", target: authority, fields }));
    const messages = new Messages(conn);
    const head = await messages.read(finalHeadDecoder());
    signal.throwIfAborted();
    if (!head) {
      const what = `Cannot read the answer of the proxy ${formatTarget(proxy)}: it gave none`;
      throw new PosternError("unreachable", what);
    }
    const { status, reason } = head;
    if (status >= 200 && status < 300) return messages.goOn();
    const said = plainText(`${status} ${reason}`.trimEnd(), { limit: 100 });
    const what = `Cannot reach ${authority} through the proxy ${formatTarget(proxy)}: it answered ${said}`;
    throw new PosternError(status === 407 ? "auth" : "unreachable", what, {
      ...(status === 407 && { hint: "check the user and the password in the proxy's URL" }),
    });
  } catch (error) {
    conn.abort(error);
    signal.throwIfAborted();
    throw error;
  }
}

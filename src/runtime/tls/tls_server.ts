import type { Duplex } from "node:stream";
import type { SecureContext, TLSSocket } from "node:tls";
import { type Conn, whenAborted } from "../../core/mod.ts";
import { PosternError } from "../../words/mod.ts";
import type { ServeSecureOptions } from "../../world/mod.ts";
import { BelowTls } from "./below_tls.ts";
import { TlsConn } from "./tls_conn.ts";

/**
 * Starts TLS as a server over any connection. With `clientCa`, a client must send a certificate signed by one
 * of these. Each call passes the current certificates, so new ones apply to the next client. Drops `conn` on
 * failure.
 */
export async function secureAsServer(
  conn: Conn,
  options: ServeSecureOptions & { signal: AbortSignal },
): Promise<Conn> {
  const { cert, key, clientCa, alpn, minVersion, signal } = options;
  try {
    signal.throwIfAborted();
    const { createServer } = await import("node:tls");
    // Never listens: it gets a single connection. Only node's server class verifies client certificates.
    const server = createServer({
      ...(alpn && { ALPNProtocols: [...alpn] }),
      ...(minVersion && { minVersion }),
      ...(clientCa !== undefined && { requestCert: true, rejectUnauthorized: true }),
    });
    Object.assign(server, { _sharedCreds: await contextOf({ cert, key, clientCa, minVersion }) });
    const below = new BelowTls(conn);
    const { promise, resolve, reject } = Promise.withResolvers<TLSSocket>();
    server.once("secureConnection", resolve).once("tlsClientError", reject).once("error", reject);
    using _left = onLeaving(below.stream, () => reject(new Error("socket hang up")));
    using _stop = whenAborted(signal, () => reject(signal.reason));
    server.emit("connection", below.stream);
    const socket = await promise;
    return new TlsConn({ socket, below, conn, failure: clientError });
  } catch (error) {
    conn.abort(error);
    if (signal.aborted) throw signal.reason;
    throw clientError(error);
  }
}

interface Identity {
  readonly cert: string;
  readonly key: string;
  readonly clientCa: string | undefined;
  readonly minVersion: ServeSecureOptions["minVersion"] | undefined;
}

/**
 * Contexts of the last used identities: creating one costs more time than the rest of a handshake, and much
 * memory.
 */
const contexts: (Identity & { readonly context: SecureContext })[] = [];

async function contextOf({ cert, key, clientCa, minVersion }: Identity): Promise<SecureContext> {
  const known = contexts.findIndex((each) =>
    each.cert === cert && each.key === key && each.clientCa === clientCa && each.minVersion === minVersion
  );
  const [found] = known < 0 ? [] : contexts.splice(known, 1);
  if (found) {
    contexts.push(found);
    return found.context;
  }
  const { createSecureContext } = await import("node:tls");
  const context = createSecureContext({
    cert,
    key,
    ...(clientCa !== undefined && { ca: [clientCa] }),
    ...(minVersion && { minVersion }),
  });
  contexts.push({ cert, key, clientCa, minVersion, context });
  if (contexts.length > mostContexts) contexts.shift();
  return context;
}

const mostContexts = 8;

/** Whether the runtime can serve TLS: before 2.9, Deno's TLS required sockets and had no such context. */
export async function canServeTls(): Promise<boolean> {
  const { createSecureContext } = await import("node:tls");
  const { context } = createSecureContext({}) as { context?: { addCACert?: unknown } };
  return typeof context?.addCACert === "function";
}

/** Calls `left` for a client that ends before the server emits an event about it. */
function onLeaving(stream: Duplex, left: () => void): Disposable {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const gone = () => timer ??= setTimeout(left, 100);
  stream.once("end", gone).once("close", gone);
  return {
    [Symbol.dispose]() {
      stream.off("end", gone).off("close", gone);
      clearTimeout(timer);
    },
  };
}

function clientError(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof PosternError) return error;
  if (/not implemented|is not a (function|constructor)/i.test(error.message)) {
    return new PosternError("config", "Cannot serve TLS: the runtime of this build does not support it", {
      cause: error,
      hint: "use a postern compiled with Deno 2.9 or newer",
    });
  }
  // Node's server reports a certificate with an untrusted signature only like this.
  const isLeft = /hang up/i.test(error.message);
  const isRefused = isLeft || /certificate|unknown.?ca/i.test(error.message);
  const what = isLeft ? "the client disconnected, or its certificate is not trusted" : error.message;
  return new PosternError(isRefused ? "auth" : "protocol", `Cannot start TLS with the client: ${what}`, {
    cause: error,
  });
}

import type { PeerCertificate, TLSSocket } from "node:tls";
import { type Conn, whenAborted } from "../../core/mod.ts";
import { parseIp, PosternError } from "../../words/mod.ts";
import type { SecureOptions } from "../../world/mod.ts";
import { BelowTls } from "./below_tls.ts";
import { shownChain } from "./shown_chain.ts";
import { TlsConn } from "./tls_conn.ts";
import { tlsError } from "./tls_error.ts";
import { trustedCertificates } from "./trusted_certificates.ts";

/**
 * TLS as a client over any connection, with node's TLS because Deno's own takes sockets only. The peer must be
 * signed by a CA of the system, of SSL_CERT_FILE or of `ca`, unless `trust` says otherwise, and named `serverName`. An
 * IP literal is compared with the certificate's IP addresses and never sent (RFC 6066, section 3). On failure `conn`
 * is dropped.
 */
export async function secure(conn: Conn, options: SecureOptions & { signal: AbortSignal }): Promise<Conn> {
  const { serverName, ca, cert, key, alpn, signal, trust: whom = "system" } = options;
  if (signal.aborted) {
    conn.abort(signal.reason);
    throw signal.reason;
  }
  try {
    for (const [name, pem] of Object.entries({ ca, cert, key })) expectPem(name, pem);
    const { checkServerIdentity, connect, createSecureContext } = await import("node:tls");
    const secureContext = createSecureContext({
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
      // Without this, even empty, there is what Deno brings.
      ...(whom === "ca" ? { ca: [] } : {}),
    });
    const trusted = whom === "system" ? await trustedCertificates() : [];
    trust(secureContext, ca === undefined ? trusted : [...trusted, ca]);
    const below = new BelowTls(conn);
    const socket: TLSSocket = connect({
      socket: below.stream,
      servername: parseIp(serverName) ? "" : serverName,
      secureContext,
      ...(alpn ? { ALPNProtocols: [...alpn] } : {}),
      ...(whom === "any" ? { rejectUnauthorized: false } : {}),
      checkServerIdentity: (_host: string, peer: PeerCertificate) => checkServerIdentity(serverName, peer),
    });
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const closed = () => reject(new Error("the peer closed the connection"));
    socket.once("secureConnect", resolve).once("error", reject).once("close", closed);
    using _stop = whenAborted(signal, () => reject(signal.reason));
    try {
      await promise;
    } catch (error) {
      socket.on("error", () => {}).destroy();
      throw error;
    } finally {
      socket.off("error", reject).off("close", closed);
    }
    options.onChain?.(shownChain(socket));
    return new TlsConn({ socket, below, conn, failure: (error) => tlsError(error, serverName) });
  } catch (error) {
    conn.abort(error);
    if (signal.aborted) throw signal.reason;
    throw tlsError(error, serverName);
  }
}

/** Before 2.9 Deno's TLS could not run over a connection that is no socket, and had no such context. */
export function trust(
  { context }: { readonly context?: { addCACert?(pem: string): void } },
  pems: readonly string[],
): void {
  if (!context?.addCACert) {
    throw new PosternError("config", "Cannot speak TLS: the runtime of this build cannot do it", {
      hint: "take a postern that is compiled with Deno 2.9 or newer",
    });
  }
  for (const pem of pems) context.addCACert(pem);
}

/** Node would take any text here and fail later, with a sentence about the connection. */
function expectPem(name: string, pem: string | undefined): void {
  if (pem === undefined || /-----BEGIN [A-Z0-9 ]+-----/.test(pem)) return;
  throw new PosternError("config", `Cannot use ${name} for TLS: it holds no PEM block`, {
    hint: "give a file that has -----BEGIN ...----- in it",
  });
}

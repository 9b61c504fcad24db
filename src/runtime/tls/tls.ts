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
 * Starts TLS as a client over any connection; uses node's TLS because Deno's accepts sockets only. The peer's
 * certificate must be signed by a CA of the system, of SSL_CERT_FILE or of `ca`, unless `trust` says
 * otherwise, and match `serverName`. An IP address is compared with the certificate's addresses and never
 * sent (RFC 6066, section 3). Drops `conn` on failure.
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
      // Without this empty list, node trusts Deno's built-in CAs.
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

/**
 * Creates the trust settings. Before 2.9, Deno's TLS could not run over a connection that is not a socket,
 * and had no such context.
 */
export function trust(
  { context }: { readonly context?: { addCACert?(pem: string): void } },
  pems: readonly string[],
): void {
  if (!context?.addCACert) {
    throw new PosternError("config", "Cannot use TLS: the runtime of this build does not support it", {
      hint: "use a postern compiled with Deno 2.9 or newer",
    });
  }
  for (const pem of pems) context.addCACert(pem);
}

/** Checks for PEM: node would accept any text and fail later with an error about the connection. */
function expectPem(name: string, pem: string | undefined): void {
  if (pem === undefined || /-----BEGIN [A-Z0-9 ]+-----/.test(pem)) return;
  throw new PosternError("config", `Cannot use ${name} for TLS: the file has no PEM block`, {
    hint: "use a file that contains -----BEGIN ...-----",
  });
}

import { encodeBase64, pemBlock } from "../../core/mod.ts";
import type { DetailedPeerCertificate, TLSSocket } from "node:tls";
import type { ShownCertificate } from "../../world/mod.ts";

/** Longer than any real chain: the peer chooses what it sends. */
const most = 20;

/** Returns the certificates that the peer of a TLS connection has sent, its own first. */
export function shownChain(socket: TLSSocket): readonly ShownCertificate[] {
  const chain: ShownCertificate[] = [];
  let next: Partial<DetailedPeerCertificate> | undefined = socket.getPeerCertificate(true);
  while (next?.raw && chain.length < most) {
    const { raw, ca } = next;
    chain.push({ pem: pemBlock("CERTIFICATE", encodeBase64(raw)), isAuthority: ca === true });
    // Node marks the end of a chain with a certificate that is its own issuer.
    next = next.issuerCertificate === next ? undefined : next.issuerCertificate;
  }
  return chain;
}

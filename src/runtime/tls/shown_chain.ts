import { encodeBase64, pemBlock } from "../../core/mod.ts";
import type { DetailedPeerCertificate, TLSSocket } from "node:tls";
import type { ShownCertificate } from "../../world/mod.ts";

/** More than any chain has: what a peer shows is its own choice. */
const most = 20;

/** What the peer of a TLS connection has shown of itself, its own certificate first. */
export function shownChain(socket: TLSSocket): readonly ShownCertificate[] {
  const chain: ShownCertificate[] = [];
  let next: Partial<DetailedPeerCertificate> | undefined = socket.getPeerCertificate(true);
  while (next?.raw && chain.length < most) {
    const { raw, ca } = next;
    chain.push({ pem: pemBlock("CERTIFICATE", encodeBase64(raw)), isAuthority: ca === true });
    // Node ends a chain with a certificate that is its own issuer.
    next = next.issuerCertificate === next ? undefined : next.issuerCertificate;
  }
  return chain;
}

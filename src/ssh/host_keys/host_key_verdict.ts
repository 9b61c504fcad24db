import { isSameKey, type SshPublicKey } from "../keys/ssh_keys.ts";
import type { KnownHostMatch } from "./known_hosts_files.ts";

/** What the known_hosts files say about the key of a server. */
export type HostKeyVerdict =
  | { readonly kind: "known"; readonly by: KnownHostMatch }
  | { readonly kind: "revoked"; readonly by: KnownHostMatch }
  /** Other keys are known, but not this one. */
  | {
    readonly kind: "changed";
    readonly by: readonly KnownHostMatch[];
    /** Set when a certificate could prove the server's identity. */
    readonly authority?: KnownHostMatch | undefined;
  }
  /** Only a certificate could prove the server's identity. */
  | { readonly kind: "authority"; readonly by: KnownHostMatch }
  | { readonly kind: "unknown" };

export interface KnownLines {
  /** The lines for the name with its port, or for the alias. */
  readonly own: readonly KnownHostMatch[];
  /**
   * The lines for the name without its port, which is not 22. As in ssh, they count when no line has the
   * port.
   */
  readonly portless: readonly KnownHostMatch[];
}

/** Judges a key as ssh does; a revocation applies in every file and line. */
export function verdictOn(key: SshPublicKey, { own, portless }: KnownLines): HostKeyVerdict {
  const all = [...own, ...portless];
  const same = (lines: readonly KnownHostMatch[], kind: KnownHostMatch["kind"]) =>
    lines.find((line) => line.kind === kind && isSameKey(line.key, key));
  const revoked = same(all, "revoked");
  if (revoked) return { kind: "revoked", by: revoked };
  const known = same(own, "trusted");
  if (known) return { kind: "known", by: known };
  const others = own.filter(({ kind }) => kind === "trusted");
  const authority = all.find(({ kind }) => kind === "authority");
  if (others.length > 0) return { kind: "changed", by: others, authority };
  const elsewhere = same(portless, "trusted");
  if (elsewhere) return { kind: "known", by: elsewhere };
  return authority ? { kind: "authority", by: authority } : { kind: "unknown" };
}

/** The key types that would be accepted, to request from the server. */
export function trustedTypes({ own, portless }: KnownLines): Set<string> {
  const revoked = [...own, ...portless].filter(({ kind }) => kind === "revoked");
  const typesOf = (lines: readonly KnownHostMatch[]) =>
    lines.filter(({ kind, key }) => kind === "trusted" && !revoked.some((line) => isSameKey(line.key, key)))
      .map(({ key }) => key.type);
  const types = typesOf(own);
  return new Set(types.length > 0 ? types : typesOf(portless));
}

import { isSameKey, type SshPublicKey } from "../keys/ssh_keys.ts";
import type { KnownHostMatch } from "./known_hosts_files.ts";

/** What the known hosts files say about the key that a server shows. */
export type HostKeyVerdict =
  | { readonly kind: "known"; readonly by: KnownHostMatch }
  | { readonly kind: "revoked"; readonly by: KnownHostMatch }
  /** Other keys are known, and not this one. */
  | {
    readonly kind: "changed";
    readonly by: readonly KnownHostMatch[];
    /** A certificate could still show that it is the right server. */
    readonly authority?: KnownHostMatch | undefined;
  }
  /** Only a certificate could show that it is the right server. */
  | { readonly kind: "authority"; readonly by: KnownHostMatch }
  | { readonly kind: "unknown" };

export interface KnownLines {
  /** The lines about the name with its port, or about the alias. */
  readonly own: readonly KnownHostMatch[];
  /** The lines about the name alone, where the port is not 22: they count when the port has none, as in ssh. */
  readonly portless: readonly KnownHostMatch[];
}

/** Judges a key as ssh does; a revocation counts wherever it stands. */
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

/** The types of key that would be accepted: those to ask the server for. */
export function trustedTypes({ own, portless }: KnownLines): Set<string> {
  const revoked = [...own, ...portless].filter(({ kind }) => kind === "revoked");
  const typesOf = (lines: readonly KnownHostMatch[]) =>
    lines.filter(({ kind, key }) => kind === "trusted" && !revoked.some((line) => isSameKey(line.key, key)))
      .map(({ key }) => key.type);
  const types = typesOf(own);
  return new Set(types.length > 0 ? types : typesOf(portless));
}

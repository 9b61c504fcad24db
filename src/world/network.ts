import type { Endpoint, Target } from "../words/mod.ts";
import type { Conn, DialOptions } from "../core/mod.ts";

export interface Network {
  /**
   * Connects to an IP literal or a socket path; fails with `refused`, `unreachable`, `timeout` or the
   * signal's reason. `from` is the local address; by default the system chooses it.
   */
  connect(endpoint: Endpoint, options: { signal: AbortSignal; from?: string }): Promise<Conn>;
  /** Binds immediately; an address in use is a `config` error that names the owner if known. */
  listen(endpoint: Endpoint): Listening;
  /** Whether so many descriptors are free; optional. */
  hasRoom?(descriptors: number): boolean;
  /** Binds a UDP socket; fails as `listen` does. */
  datagrams(endpoint: { readonly host: string; readonly port: number }): Promise<Datagrams>;
  /** Takes over a listening TCP socket that the service manager passed as a file descriptor. */
  inherit(descriptor: number): Promise<Listening>;
  /**
   * All addresses of a name from the system resolver, in its order; throws `name_not_found` instead of
   * returning none.
   */
  lookup(name: string, options: { signal: AbortSignal }): Promise<readonly string[]>;
  /** The name of an address from the system resolver; throws `name_not_found` without one. Optional. */
  nameOf?(address: string, options: { signal: AbortSignal }): Promise<string>;
  /** The addresses of this machine, with interface names. */
  addresses(): readonly string[];
  /** The same addresses with their prefix lengths; optional. */
  attached?(): readonly AttachedNetwork[];
  /** The system's certificate authorities as PEM, without those of the runtime; optional. */
  trusted?(): Promise<readonly string[]>;
  /** TLS as a client over any connection. */
  secure(conn: Conn, options: SecureOptions & { signal: AbortSignal }): Promise<Conn>;
  /** Whether this runtime can serve TLS (default: yes). */
  canServeTls?(): Promise<boolean>;
  /** TLS as a server over any connection. */
  secureAsServer(conn: Conn, options: ServeSecureOptions & { signal: AbortSignal }): Promise<Conn>;
}

/** An address of this machine with its network. */
export interface AttachedNetwork {
  /** The name of the interface. */
  readonly name: string;
  readonly address: string;
  readonly bits: number;
}

export interface ServeSecureOptions {
  /** PEM. */
  readonly cert: string;
  readonly key: string;
  /** PEM certificates, one of which must have signed the client's; by default clients need no certificate. */
  readonly clientCa?: string;
  readonly alpn?: readonly string[];
  /** The minimum version (default: TLSv1.2). */
  readonly minVersion?: "TLSv1.2" | "TLSv1.3";
}

export interface SecureOptions {
  /** The name to send and to verify; an IP literal is verified but not sent. */
  readonly serverName: string;
  /** PEM certificates to trust. */
  readonly ca?: string | undefined;
  /**
   * Which authorities may have signed the peer's certificate: those of the system and `ca` (the default), only
   * those of `ca`, or any authority under any name.
   */
  readonly trust?: "system" | "ca" | "any";
  /** Our own certificate as PEM, for a peer that asks for one. */
  readonly cert?: string;
  readonly key?: string;
  readonly alpn?: readonly string[];
  /** Called with the peer's certificates, its own first. */
  readonly onChain?: (chain: readonly ShownCertificate[]) => void;
}

/** A certificate that a peer presented. */
export interface ShownCertificate {
  readonly pem: string;
  /** Whether it may sign other certificates. */
  readonly isAuthority: boolean;
}

/** A bound socket. */
export interface Listening extends AsyncDisposable {
  readonly endpoint: Endpoint;
  /** The next client; undefined once closed. A lack of descriptors is `internal` with detail `overloaded`. */
  accept(): Promise<Conn | undefined>;
  /**
   * Frees a reserved descriptor, so that one more client can be accepted and turned away; false if none is
   * reserved.
   */
  spendSpare?(): boolean;
  /** Reserves that descriptor again; false if none is free. */
  keepSpare?(): boolean;
  /** Stops listening; a pending accept resolves to undefined. */
  close(): void;
}

/** A bound UDP socket. */
export interface Datagrams extends AsyncDisposable {
  readonly endpoint: { readonly host: string; readonly port: number };
  /** The next datagram; undefined once closed. A bounded number of datagrams is queued; more are lost. */
  receive(): Promise<Datagram | undefined>;
  /** Sends a datagram; a missing receiver is not an error. */
  send(bytes: Uint8Array<ArrayBuffer>, to: { readonly host: string; readonly port: number }): Promise<void>;
  /** Stops receiving; a pending receive resolves to undefined. */
  close(): void;
}

export interface Datagram {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly from: { readonly host: string; readonly port: number };
}

/** How a transport opens its own connections: directly, or through the transport in its `via`. */
export type Dialer = (
  target: Target,
  options: DialOptions,
) => Promise<Conn>;

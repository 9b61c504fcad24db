import type { Endpoint, Target } from "../words/mod.ts";
import type { Conn, DialOptions } from "../core/mod.ts";

export interface Network {
  /**
   * Connects to an IP literal or a socket path; the failure is `refused`, `unreachable`, `timeout` or the signal's
   * reason. `from` is the address of ours to connect from; the system chooses when absent.
   */
  connect(endpoint: Endpoint, options: { signal: AbortSignal; from?: string }): Promise<Conn>;
  /** Binds at once; a taken address is `config` with the owner named where known. */
  listen(endpoint: Endpoint): Listening;
  /** Binds a UDP socket; fails as `listen` does. */
  datagrams(endpoint: { readonly host: string; readonly port: number }): Promise<Datagrams>;
  /** Takes over a listening TCP socket that whoever started us opened, by the number of its descriptor. */
  inherit(descriptor: number): Promise<Listening>;
  /** All addresses of a name by the system's resolver, in its order; never empty; else `name_not_found`. */
  lookup(name: string, options: { signal: AbortSignal }): Promise<readonly string[]>;
  /** This machine's own addresses, each with the name of its interface. */
  addresses(): readonly string[];
  /** The same with the length of the network behind each; none are known where it is absent. */
  attached?(): readonly AttachedNetwork[];
  /** What the system trusts as PEM, besides what the runtime itself brings; nothing where this is not said. */
  trusted?(): Promise<readonly string[]>;
  /** TLS as a client over any connection. */
  secure(conn: Conn, options: SecureOptions & { signal: AbortSignal }): Promise<Conn>;
  /** Whether this runtime can serve TLS; it can where nothing is said. */
  canServeTls?(): Promise<boolean>;
  /** TLS as a server over any connection. */
  secureAsServer(conn: Conn, options: ServeSecureOptions & { signal: AbortSignal }): Promise<Conn>;
}

/** An address of this machine in the network of one of its interfaces. */
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
  /** PEM certificates of which one must have signed the client's; nobody is asked for one when absent. */
  readonly clientCa?: string;
  readonly alpn?: readonly string[];
  /** The lowest version that is spoken; 1.2 unless told. */
  readonly minVersion?: "TLSv1.2" | "TLSv1.3";
}

export interface SecureOptions {
  /** The name to ask for and to check; an IP literal is checked, not sent. */
  readonly serverName: string;
  /** PEM certificates to trust. */
  readonly ca?: string | undefined;
  /**
   * Who may have signed the peer's certificate: a CA of the system or of `ca` (the default), one of `ca` alone, or
   * anybody at all, whatever name it carries.
   */
  readonly trust?: "system" | "ca" | "any";
  /** Who we are, for a peer that asks; PEM. */
  readonly cert?: string;
  readonly key?: string;
  readonly alpn?: readonly string[];
  /** Told what the peer has shown of itself, its own certificate first. */
  readonly onChain?: (chain: readonly ShownCertificate[]) => void;
}

/** A certificate that a peer has shown. */
export interface ShownCertificate {
  readonly pem: string;
  /** Whether it is one that signs others. */
  readonly isAuthority: boolean;
}

/** A bound socket. */
export interface Listening extends AsyncDisposable {
  readonly endpoint: Endpoint;
  /** The next client; undefined once closed. Being out of descriptors is `internal` with detail `overloaded`. */
  accept(): Promise<Conn | undefined>;
  /**
   * Gives up the descriptor that is kept for this, so that one more client can be accepted to be told that there is
   * no room; false when it is given up already.
   */
  spendSpare?(): boolean;
  /** Takes that descriptor back if there is one again; whether it is there. */
  keepSpare?(): boolean;
  /** Stops listening; a pending accept gives undefined. */
  close(): void;
}

/** A bound UDP socket. */
export interface Datagrams extends AsyncDisposable {
  readonly endpoint: { readonly host: string; readonly port: number };
  /** The next datagram; undefined once closed. Those that nobody waits for are kept up to a bound, then lost. */
  receive(): Promise<Datagram | undefined>;
  /** Sends one; that nobody is there to receive it is no failure. */
  send(bytes: Uint8Array<ArrayBuffer>, to: { readonly host: string; readonly port: number }): Promise<void>;
  /** Stops receiving; a pending receive gives undefined. */
  close(): void;
}

export interface Datagram {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly from: { readonly host: string; readonly port: number };
}

/** How a transport makes its own connections: straight, or through the transport its `via` names. */
export type Dialer = (
  target: Target,
  options: DialOptions,
) => Promise<Conn>;

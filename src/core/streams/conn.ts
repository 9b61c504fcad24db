import type { FarNames } from "../far/far_names.ts";
import type { FarTables } from "../far/far_table.ts";
import type { Target } from "../../words/mod.ts";
import type { DatagramPath } from "./datagram_path.ts";

/** A two-way byte stream. Disposing drops both directions; a second disposal does nothing. */
export interface Conn extends AsyncDisposable {
  /** Fills the start of `into`; null at the peer's end. Never returns 0 for a non-empty `into`. */
  read(into: Uint8Array<ArrayBuffer>): Promise<number | null>;
  /**
   * Resolves when a read would not wait, so that idle connections need no buffer. Exists only where received
   * data waits on our side. One caller at a time, and no read meanwhile.
   */
  whenReadable?(): Promise<void>;
  /** Writes all of `bytes`; the caller may reuse the buffer after the promise resolves. */
  write(bytes: Uint8Array<ArrayBuffer>): Promise<void>;
  /** The half-close: the peer sees the end; reading continues. */
  closeWrite(): Promise<void>;
  /** Drops both directions immediately; pending and later calls reject with `reason`. */
  abort(reason?: unknown): void;
  /**
   * Called once by `abort`, for the owner of a related connection. Absent where a connection cannot report an
   * abort.
   */
  onAbort?: ((reason: unknown) => void) | undefined;
  /** Web streams over the same calls, created on first use. */
  readonly readable: ReadableStream<Uint8Array<ArrayBuffer>>;
  readonly writable: WritableStream<Uint8Array<ArrayBuffer>>;
  /** The peer, for logs: `127.0.0.1:4711` or `unix:`. */
  readonly peer: string;
  /** Our address on this connection, if it has one. */
  readonly local?: string;
  /** True when a failed write no longer uses its buffer. */
  readonly forgetsFailedWrites?: boolean;
  /** A kernel socket: `relay` then moves bytes with its own buffers. */
  readonly isSocket?: boolean;
  /** False when the protocol below has no half-close; `closeWrite` then does nothing. */
  readonly carriesHalfClose?: boolean;
}

export interface DialOptions {
  readonly signal: AbortSignal;
  /** Called for each step of a dial (`explain --dial` times them). */
  readonly onStep?: ((step: string) => void) | undefined;
}

/** Dials targets until its disposal. */
export interface Transport extends AsyncDisposable {
  readonly name: string;
  dial(target: Target, options: DialOptions): Promise<Conn>;
  /**
   * Dials without querying another transport for names, because that transport connects through this one and
   * the two would wait for each other.
   */
  readonly dialUnasked?: (target: Target, options: DialOptions) => Promise<Conn>;
  /** Opens a path for the datagrams of one client; absent where the transport carries TCP only. */
  readonly datagrams?: ((options: DialOptions) => Promise<DatagramPath>) | undefined;
  /** The state of the transport for `status`, in addition to its name. */
  status?(): TransportStatus;
  /**
   * Reads its files again, other than the configuration, without connecting; returns notes for the user.
   * Never rejects: an unusable transport fails at each dial instead.
   */
  prepare?(): Promise<readonly TransportNote[]>;
  /** The sign-in programs that its files currently name; "any" when they are unreadable. */
  programs?(): Promise<"any" | readonly string[]>;
  /** Completes every sign-in that a dial needs. */
  connect?(options: DialOptions): Promise<void>;
  /** Checks whether its connections still work. Called after sleep and after a network change. */
  check?(): void;
  /** The names of its remote network, if they differ from ours. */
  readonly names?: FarNames | undefined;
  /** The tables for rules with `<services>` and `<clusterips>`. */
  readonly tables?: FarTables | undefined;
  /** Returns where a target would end up, from known facts only. */
  locate?(target: Target): string | undefined;
}

/** A note about a transport's files. `blocking` means that the transport is unusable. */
export interface TransportNote {
  readonly severity: "blocking" | "note" | "harmless";
  readonly text: string;
  readonly hint?: string;
}

export interface TransportStatus {
  readonly state: "idle" | "connecting" | "ready" | "failing" | "unusable";
  readonly lastError?: string;
  /** A fix, while the transport does not work. */
  readonly hint?: string;
  /** The hosts with its sessions, in the order of the path. */
  readonly hops?: readonly HopStatus[];
  /** The clusters that the transport connects into and that are in use. */
  readonly clusters?: readonly ClusterStatus[];
  readonly [more: string]: unknown;
}

/** A cluster that a transport connects into. */
export interface ClusterStatus {
  /** The context of the kubeconfig. */
  readonly name: string;
  /** The address of its API server. */
  readonly server: string;
  /** The API server's version, once known. */
  readonly version?: string;
  readonly state: "ready" | "failing";
  /** The protocol of the forwards. */
  readonly form: string;
  /** The current number of connections that carry forwards, and of forwards. */
  readonly sessions: number;
  readonly streams: number;
  /** How many sessions have broken while in use. */
  readonly broken: number;
  readonly requests: number;
  readonly watches: readonly WatchedStatus[];
  readonly lastError?: string;
  readonly hint?: string;
  /** The credential plugin that runs now; every request waits for it. */
  readonly signingInWith?: string;
}

/** A watch on a cluster's resources. */
export interface WatchedStatus {
  /** `*` for the whole cluster. */
  readonly namespace: string;
  readonly resource: string;
  readonly state: string;
  /** The start, in RFC 3339. */
  readonly since: string;
  readonly objects: number;
  readonly relists: number;
  readonly lastError?: string;
}

/** A host on the path of a transport that keeps sessions. */
export interface HopStatus {
  readonly host: string;
  readonly address: string;
  readonly state: "idle" | "connecting" | "ready" | "failing";
  /** The start, in RFC 3339. */
  readonly since: string;
  readonly roundTripMs?: number;
  /** The number of connections through it. */
  readonly channels: number;
  readonly sessions: number;
  readonly reconnects: number;
  readonly lastError?: string;
  /** A fix, while the host does not work. */
  readonly hint?: string;
}

/** A client's request to the instance. */
export interface DialRequest {
  readonly target: Target;
  readonly client: string;
  /** The protocol of the listener: `socks5`, `socks5-udp`, `socks4`, `connect`, `http`, `forward`, `nc`. */
  readonly protocol: string;
  /** The user that the client signed in as, if the listener requires it. */
  readonly user?: string;
  /** The name of the forward. */
  readonly forward?: string;
  /** The path of a socket of this user, to connect to instead of the target; no rule routes it. */
  readonly socket?: string;
  /** The ssh hosts whose ProxyCommand makes this request. */
  readonly hops?: readonly string[];
}

/** Bytes transferred so far: `up` from the client to the target, `down` back. */
export interface Tally {
  up: number;
  down: number;
}

/**
 * A connection that the instance made for one request. The caller transfers its bytes, counts them in `tally`
 * and calls `finish`.
 */
export interface Dialed {
  readonly conn: Conn;
  readonly tally: Tally;
  /** Ends the record of this connection (once; later calls do nothing) and drops `conn`. */
  finish(outcome: string, error?: unknown): void;
}

/**
 * How listeners look up names for clients. The owner routes, limits and refuses each lookup like a dial, and
 * resolves a name only where it would also connect to it. The request's port is 0.
 */
export interface ClientNames {
  /** An address that reaches the name through the same listener. */
  addressOf(request: DialRequest, options: { readonly signal: AbortSignal }): Promise<string>;
  /** The name of an address. */
  nameOf(request: DialRequest, options: { readonly signal: AbortSignal }): Promise<string>;
}

/** How listeners reach targets; the listener's owner routes, limits, records and logs each dial. */
export type Dial = (request: DialRequest, options: { signal: AbortSignal }) => Promise<Dialed>;

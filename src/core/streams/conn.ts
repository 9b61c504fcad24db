import type { FarNames } from "../far/far_names.ts";
import type { FarTables } from "../far/far_table.ts";
import type { Target } from "../../words/mod.ts";

/** A two-way byte stream. Disposing drops both directions and may be done twice. */
export interface Conn extends AsyncDisposable {
  /** Fills the front of `into`; null at the peer's end. Never 0 for a non-empty `into`. */
  read(into: Uint8Array<ArrayBuffer>): Promise<number | null>;
  /**
   * Resolves once a read would not wait, whatever it gives: who has many connections that rest holds no buffer for any
   * of them. Only where what has come waits on our side. One waits at a time, and nobody reads meanwhile.
   */
  whenReadable?(): Promise<void>;
  /** Writes all of `bytes`; the caller may reuse them once this has resolved. */
  write(bytes: Uint8Array<ArrayBuffer>): Promise<void>;
  /** The half-close: the peer sees the end, reading goes on. */
  closeWrite(): Promise<void>;
  /** Drops both directions at once; pending and later calls fail with `reason`. */
  abort(reason?: unknown): void;
  /**
   * Called once by `abort`, for whoever waits for the other half of something this connection is part of. A
   * connection that cannot tell has no such property.
   */
  onAbort?: ((reason: unknown) => void) | undefined;
  /** Web streams over the same calls, made on first use. */
  readonly readable: ReadableStream<Uint8Array<ArrayBuffer>>;
  readonly writable: WritableStream<Uint8Array<ArrayBuffer>>;
  /** Who is on the other side, for logs: `127.0.0.1:4711` or `unix:`. */
  readonly peer: string;
  /** Our own address on this connection, where there is one. */
  readonly local?: string;
  /** True where a write that has failed reads what it was given no more. */
  readonly forgetsFailedWrites?: boolean;
  /** A kernel socket: `relay` then moves bytes with its own buffers. */
  readonly isSocket?: boolean;
  /** False where the protocol below has no half-close: `closeWrite` then does nothing. */
  readonly carriesHalfClose?: boolean;
}

export interface DialOptions {
  readonly signal: AbortSignal;
  /** Told about each step of a dial (`explain --dial` times them). */
  readonly onStep?: ((step: string) => void) | undefined;
}

/** A way out: dials targets until it is disposed. */
export interface Transport extends AsyncDisposable {
  readonly name: string;
  dial(target: Target, options: DialOptions): Promise<Conn>;
  /**
   * Dials for another transport that this one asks for names, and which itself is reached through this one: it is asked
   * for nothing then.
   */
  readonly dialUnasked?: (target: Target, options: DialOptions) => Promise<Conn>;
  /** What `status` shows of it beyond its name. */
  status?(): TransportStatus;
  /**
   * Reads again what it needs beside the configuration, and connects to nothing; tells what a person has to know of
   * that. It never fails: what cannot be used says so at each dial.
   */
  prepare?(): Promise<readonly TransportNote[]>;
  /** The programs that it starts to sign in, by what its files say now; "any" where they cannot be read. */
  programs?(): Promise<"any" | readonly string[]>;
  /** Signs in wherever it must before a target can be dialled. */
  connect?(options: DialOptions): Promise<void>;
  /** Asks whether what it is connected to is still there: after a sleep, or when the network has changed. */
  check?(): void;
  /** The names of its far side, where it has any of its own. */
  readonly names?: FarNames | undefined;
  /** What rules with `<services>` and `<clusterips>` look up. */
  readonly tables?: FarTables | undefined;
  /** Where a target would end on the far side, by what is known without asking. */
  locate?(target: Target): string | undefined;
}

/** What a transport has to say of what it read. `blocking` makes it unusable. */
export interface TransportNote {
  readonly severity: "blocking" | "note" | "harmless";
  readonly text: string;
  readonly hint?: string;
}

export interface TransportStatus {
  readonly state: "idle" | "connecting" | "ready" | "failing" | "unusable";
  readonly lastError?: string;
  /** What would help, while it does not work. */
  readonly hint?: string;
  /** Hosts that it keeps sessions with, in the order in which they are gone through. */
  readonly hops?: readonly HopStatus[];
  /** Clusters that it goes into, as far as they are in use. */
  readonly clusters?: readonly ClusterStatus[];
  readonly [more: string]: unknown;
}

/** A cluster that a transport goes into. */
export interface ClusterStatus {
  /** The context of the kubeconfig. */
  readonly name: string;
  /** Where its API server is. */
  readonly server: string;
  /** What that says it is, once it was asked. */
  readonly version?: string;
  readonly state: "ready" | "failing";
  /** How forwards are carried. */
  readonly form: string;
  /** Connections that carry forwards, and forwards, now. */
  readonly sessions: number;
  readonly streams: number;
  /** Sessions that broke while they were in use, so far. */
  readonly broken: number;
  readonly requests: number;
  readonly watches: readonly WatchedStatus[];
  readonly lastError?: string;
  readonly hint?: string;
  /** The credential plugin that runs now: every request waits for it. */
  readonly signingInWith?: string;
}

/** What is followed of a cluster. */
export interface WatchedStatus {
  /** `*` is the whole cluster. */
  readonly namespace: string;
  readonly resource: string;
  readonly state: string;
  /** Since when, in RFC 3339. */
  readonly since: string;
  readonly objects: number;
  readonly relists: number;
  readonly lastError?: string;
}

/** A host on the way of a transport that keeps sessions. */
export interface HopStatus {
  readonly host: string;
  readonly address: string;
  readonly state: "idle" | "connecting" | "ready" | "failing";
  /** Since when, in RFC 3339. */
  readonly since: string;
  readonly roundTripMs?: number;
  /** Connections that go through it now. */
  readonly channels: number;
  readonly sessions: number;
  readonly reconnects: number;
  readonly lastError?: string;
  /** What would help, while it does not work. */
  readonly hint?: string;
}

/** What a client wants of the door. */
export interface DialRequest {
  readonly target: Target;
  /** The client's address. */
  readonly client: string;
  /** The client's way in: `socks5`, `socks4`, `connect`, `http`. */
  readonly protocol: string;
  /** The user the client signed in as, where the door asks for that. */
  readonly user?: string;
}

/** Bytes moved so far: `up` from the client to the target, `down` back. */
export interface Tally {
  up: number;
  down: number;
}

/** A connection that the door made for one request. Whoever moves its bytes counts them in `tally` and says how it ended. */
export interface Dialed {
  readonly conn: Conn;
  readonly tally: Tally;
  /** Ends the record of this connection (once; later calls do nothing) and drops `conn`. */
  finish(outcome: string, error?: unknown): void;
}

/** How listeners reach targets: routed, limited in time, recorded and logged by the app. */
export type Dial = (request: DialRequest, options: { signal: AbortSignal }) => Promise<Dialed>;

import type { ClientNames, Clock, Conn, Deadlines, Dial, Log, Messages } from "../core/mod.ts";
import { PosternError, type Target } from "../words/mod.ts";
import type { headDecoders } from "../wire/mod.ts";
import type { Datagrams } from "../world/mod.ts";
import type { Authenticator } from "./authenticator.ts";
import type { Pages } from "./pages/page.ts";

/** The limits of a listener, in connections and in milliseconds. */
export interface ListenerLimits {
  /** Maximum number of clients at once. */
  readonly connections: number;
  /** Time limit for a client's request. */
  readonly handshake: number;
  /** How long a target may still answer after the client closed its side, on a path without half-close. */
  readonly halfCloseLinger: number;
  /** Time limit for an idle HTTP connection (default: 60,000). */
  readonly keepAlive?: number;
  /** Maximum size of an HTTP head in bytes, in both directions (default: 256 KiB). */
  readonly head?: number;
}

export type HeadLimits = Parameters<typeof headDecoders.request>[0];

/** The limits for reading an HTTP head. One line may take a quarter of it. */
export function headLimits({ head = 256 * 1024 }: { readonly head?: number | undefined }): HeadLimits {
  return { head, line: head >> 2, hint: "raise listen.limits.head" };
}

/** The dependencies of every listener. Routing is hidden behind `dial`. */
export interface ListenerDeps {
  readonly dial: Dial;
  /** Looks up names for SOCKS clients; without it, their lookups are refused. */
  readonly names?: ClientNames | undefined;
  /** Relays the datagrams of SOCKS5 clients; without it, UDP ASSOCIATE is refused. */
  readonly datagrams?: OpenDatagramRelay | undefined;
  /** The generation of the plan that `dial` uses; undefined if the plan never changes. */
  readonly generation?: (() => number) | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly deadlines: Deadlines;
  readonly limits: ListenerLimits;
  /** Without it, clients need no password. */
  readonly auth?: Authenticator | undefined;
  /** Answers HTTP requests for pages; without it they are refused. */
  readonly pages?: Pages | undefined;
}

/** Opens a relay for one client; the owner limits their number. */
export type OpenDatagramRelay = (
  request: {
    readonly client: string;
    readonly user?: string;
    /** The local address for the client's datagrams. */
    readonly host: string;
  },
  /** Called for each reply of a target that the client asked; resolves when the reply is sent. */
  reply: (from: Target, data: Uint8Array<ArrayBuffer>) => Promise<void>,
) => Promise<DatagramRelay>;

/** Relays the datagrams of one client. The owner routes, limits, records and counts them. */
export interface DatagramRelay extends AsyncDisposable {
  /** The socket for the client's datagrams; closes with the relay. */
  readonly socket: Datagrams;
  /** Sends a datagram to its target, or counts it as refused. */
  send(target: Target, data: Uint8Array<ArrayBuffer>): Promise<void> | void;
  /** Counts a datagram without a known target, or a reply that cannot be sent to the client. */
  dropped(why: "client" | "fragment" | "malformed" | "unsent"): void;
  /** Ends the relay soon after its last datagram, because the instance stops. */
  drain(): void;
  /** Resolves when the relay has been idle for too long. */
  readonly ended: Promise<void>;
}

export interface ServeOptions {
  /** Aborts dials and relays. The code that aborts it also drops the client, which ends everything else. */
  readonly signal: AbortSignal;
  /** The deadline of the first request, if the caller has started it. */
  readonly deadline?: Disposable;
  /** Aborts when the listener accepts no more clients; connections between two requests then close. */
  readonly draining?: AbortSignal;
  /**
   * Contains the client until its first byte arrives; when the listener drains, these clients are dropped
   * soon.
   */
  readonly silent?: Set<Conn>;
  /**
   * Contains the client while its request is awaited; without room for more clients, the oldest of these is
   * dropped.
   */
  readonly unheard?: Unheard;
}

/** Clients whose request is awaited. */
export interface Unheard {
  add(client: Conn): void;
  delete(client: Conn): void;
}

/** Serves a client connection in one protocol, from the first request to the end. Disposes `client`. */
export type Serve = (
  client: Conn,
  messages: Messages,
  deps: ListenerDeps,
  options: ServeOptions,
) => Promise<void>;

/** Drops the client if its request takes too long. Dispose it when the request is complete. */
export function handshakeDeadline(
  client: Conn,
  { deadlines, limits }: Pick<ListenerDeps, "deadlines" | "limits">,
  { unheard }: Pick<ServeOptions, "unheard"> = {},
): Disposable {
  const deadline = deadlines.add(limits.handshake, () => {
    client.abort(
      new PosternError("timeout", `Cannot wait longer than ${limits.handshake} ms for the request`),
    );
  });
  unheard?.add(client);
  return {
    [Symbol.dispose]() {
      unheard?.delete(client);
      deadline[Symbol.dispose]();
    },
  };
}

/** The error for a client that exceeds the number of clients. */
export function overloaded(connections: number): PosternError {
  return new PosternError("internal", `Cannot accept another connection: ${connections} are open`, {
    detail: "overloaded",
    hint: "raise listen.limits.connections, or close connections: postern connections",
  });
}

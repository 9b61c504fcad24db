import type { Clock, Conn, Deadlines, Dial, Log, Messages } from "../core/mod.ts";
import { PosternError } from "../words/mod.ts";
import type { Authenticator } from "./authenticator.ts";
import type { Pages } from "./pages/page.ts";

/** What a door allows its clients, in connections and in milliseconds. */
export interface ListenerLimits {
  /** How many clients are served at once. */
  readonly connections: number;
  /** How long a client may take to say what it wants. */
  readonly handshake: number;
  /** How long a target may go on answering a client that has ended, where the way carries no half-close. */
  readonly halfCloseLinger: number;
  /** How long an HTTP connection may stay open without a request; a minute unless said otherwise. */
  readonly keepAlive?: number;
}

/** What every way in is given. It knows no router: `dial` does. */
export interface ListenerDeps {
  readonly dial: Dial;
  /** The generation of the plan that `dial` goes by; absent where it never changes. */
  readonly generation?: (() => number) | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly deadlines: Deadlines;
  readonly limits: ListenerLimits;
  /** Without it nobody is asked for a password. */
  readonly auth?: Authenticator | undefined;
  /** What answers HTTP requests for the door itself; without it they are refused. */
  readonly pages?: Pages | undefined;
}

export interface ServeOptions {
  /** Ends dials and relays. Whoever accepted the client drops it at that moment, which ends everything else. */
  readonly signal: AbortSignal;
  /** The deadline of the first request, where whoever read the first bytes has started it. */
  readonly deadline?: Disposable;
  /** Ends when no new clients are taken: then connections that are between two requests are let go. */
  readonly draining?: AbortSignal;
  /** Holds the client until its first byte has come: soon after no new clients are taken, those in it are let go. */
  readonly silent?: Set<Conn>;
  /** Holds the client while its request is awaited: where there is no room for more, the oldest of them gives way. */
  readonly unheard?: Unheard;
}

/** Clients whose request is awaited. */
export interface Unheard {
  add(client: Conn): void;
  delete(client: Conn): void;
}

/** One protocol's part of a client's connection, from the first request to the end. Disposes `client`. */
export type Serve = (
  client: Conn,
  messages: Messages,
  deps: ListenerDeps,
  options: ServeOptions,
) => Promise<void>;

/** Drops the client unless it has said what it wants in time; disposed when it has. */
export function handshakeDeadline(
  client: Conn,
  { deadlines, limits }: Pick<ListenerDeps, "deadlines" | "limits">,
  { unheard }: Pick<ServeOptions, "unheard"> = {},
): Disposable {
  const deadline = deadlines.add(limits.handshake, () => {
    client.abort(
      new PosternError("timeout", `Cannot wait for the request any longer: ${limits.handshake} ms passed`),
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

import { accepting, type Listening } from "../world/mod.ts";
import { type Conn, Messages, Tasks } from "../core/mod.ts";
import { describe, PosternError } from "../words/mod.ts";
import { type ListenerDeps, overloaded, type Serve, type Unheard } from "./listener.ts";

const mostTurnedAway = 64;
const turnAwayWithin = 1000;
/** How long a draining listener waits for silent clients, in ms: their request may be in transit. */
const lastWordWithin = 500;

/**
 * Serves the clients of a socket. After the socket closes, drops idle clients, soon also silent ones, and
 * waits for the rest. When the signal aborts, drops all clients.
 */
export async function serveListener(
  listening: Listening,
  serve: Serve,
  deps: ListenerDeps,
  { signal }: { signal: AbortSignal },
): Promise<void> {
  const listener = new ListenerClients(serve, deps, signal);
  const { clock, log } = deps;
  const turnAway = (client: Conn) => listener.turnAway(client);
  const makeRoom = () => listener.makeRoom();
  try {
    for await (const client of accepting(listening, { signal, clock, log, turnAway, makeRoom })) {
      listener.admit(client);
    }
  } finally {
    await listener.drain();
  }
}

class ListenerClients {
  readonly #serve: Serve;
  readonly #deps: ListenerDeps;
  readonly #signal: AbortSignal;
  readonly #draining = new AbortController();
  /**
   * One abort listener drops all clients and with them their relays. Thousands of listeners on the signal
   * would slow down each new one.
   */
  readonly #clients = new Set<Conn>();
  readonly #silent = new Set<Conn>();
  /** Clients whose request is awaited, oldest first; and those of them over the limit. */
  readonly #unheard = new Set<Conn>();
  readonly #unheardTurnedAway = new Set<Conn>();
  readonly #drop = () => {
    for (const client of this.#clients) client.abort(this.#signal.reason);
  };
  readonly #served: Tasks;
  readonly #turnedAway: Tasks;
  #saidFullAt = -Infinity;

  constructor(serve: Serve, deps: ListenerDeps, signal: AbortSignal) {
    const failed = (error: unknown) => deps.log.error("client.failed", { reason: describe(error) });
    this.#serve = serve;
    this.#deps = deps;
    this.#signal = signal;
    this.#served = new Tasks(signal, failed);
    this.#turnedAway = new Tasks(signal, failed);
    signal.addEventListener("abort", this.#drop, { once: true });
  }

  admit(client: Conn): void {
    if (this.#signal.aborted) return client.abort(this.#signal.reason);
    if (this.#served.size < this.#deps.limits.connections) {
      this.#served.spawn(() => this.#run(client, this.#deps));
      return;
    }
    this.#sayFull();
    if (this.#turnedAway.size < mostTurnedAway || this.#giveWay(this.#unheardTurnedAway)) {
      this.#turnedAway.spawn(() => this.turnAway(client));
    } else {
      client.abort(overloaded(this.#deps.limits.connections));
    }
  }

  /** Tells a client in its own protocol that there is no room, if the client sends its request in time. */
  turnAway(client: Conn): Promise<void> {
    const sets = [this.#unheard, this.#unheardTurnedAway];
    return this.#run(client, this.#turningAway(), {
      add: (client) => sets.forEach((set) => set.add(client)),
      delete: (client) => sets.forEach((set) => set.delete(client)),
    });
  }

  /** Drops the client that has been sending its request for longest; false if no request is awaited. */
  makeRoom(): boolean {
    return this.#giveWay(this.#unheard);
  }

  /** Waits for the clients to end. */
  async drain(): Promise<void> {
    this.#draining.abort();
    using _lastWord = this.#deps.clock.after(lastWordWithin, () => this.#dropSilent());
    await using _turnedAway = this.#turnedAway;
    await using served = this.#served;
    await served.idle();
    this.#signal.removeEventListener("abort", this.#drop);
  }

  /** Browsers open spare connections, and a stopping instance must not wait for each one's timeout. */
  #dropSilent(): void {
    for (const client of this.#silent) client.abort(new PosternError("cancelled", "The instance stopped"));
  }

  #giveWay(waiting: ReadonlySet<Conn>): boolean {
    for (const client of waiting) {
      for (const set of [this.#unheard, this.#unheardTurnedAway]) set.delete(client);
      client.abort(
        new PosternError("cancelled", "Dropped for a newer client before its request was complete"),
      );
      return true;
    }
    return false;
  }

  async #run(client: Conn, deps: ListenerDeps, unheard: Unheard = this.#unheard): Promise<void> {
    this.#clients.add(client);
    const options = {
      signal: this.#signal,
      draining: this.#draining.signal,
      silent: this.#silent,
      unheard,
    };
    try {
      await this.#serve(client, new Messages(client), deps, options);
    } finally {
      this.#clients.delete(client);
      await client[Symbol.asyncDispose]();
    }
  }

  /** Reads the requests of clients over the limit, so that each gets an answer in its own protocol. */
  #turningAway(): ListenerDeps {
    // By name: a spread does not copy the getters of a class.
    const { clock, log, deadlines, limits, auth, pages } = this.#deps;
    const refuse = () => Promise.reject(overloaded(limits.connections));
    return {
      clock,
      log,
      deadlines,
      dial: refuse,
      names: { addressOf: refuse, nameOf: refuse },
      datagrams: refuse,
      limits: { ...limits, handshake: turnAwayWithin, keepAlive: turnAwayWithin },
      auth,
      pages,
    };
  }

  #sayFull(): void {
    const now = this.#deps.clock.now();
    if (now - this.#saidFullAt < 1000) return;
    this.#saidFullAt = now;
    this.#deps.log.warn("instance.full", { connections: this.#served.size });
  }
}

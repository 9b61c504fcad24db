import { type Clock, Deadlines, type Dial, type Log, Tasks } from "../../core/mod.ts";
import { describe, PosternError } from "../../words/mod.ts";
import type { Listening, Network } from "../../world/mod.ts";
import {
  defaultLimits,
  type ListenerDeps,
  type ListenerLimits,
  serveForward,
  serveListener,
} from "../../listeners/mod.ts";

export interface LoopbackListenersDeps {
  readonly network: Pick<Network, "listen" | "hasRoom">;
  readonly clock: Clock;
  readonly log: Log;
  readonly dial: Dial;
  /** Called for a port that cannot be bound. */
  readonly refused: (refusal: PortRefusal) => void;
  /** Called for a name with live connections, so that it keeps its address. */
  readonly used: (address: string) => void;
}

/** A port of a name that cannot be bound. */
export interface PortRefusal {
  readonly name: string;
  readonly address: string;
  readonly port: number;
  readonly error: PosternError;
}

export interface LoopbackLimits {
  /** The maximum number of listeners. */
  readonly most: number;
  /** How long listeners stay without use, in ms. */
  readonly idle: number;
}

interface Entry {
  readonly name: string;
  readonly address: string;
  readonly listening: Map<number, Listening>;
  readonly dropping: AbortController;
  isPinned: boolean;
  live: number;
  /** The last query or the last end of a connection. */
  usedAt: number;
}

/** The maximum number of ports of one name. */
const mostPorts = 256;
/** Listeners used within this time in ms are not closed for others: a client is about to connect. */
const grace = 10_000;
/** Descriptors that listeners leave to connections. */
const reserve = 256;
/** The longest time between looks for idle names, in ms; an address stays with its name for longer. */
const sweptEvery = 60_000;
/** How many listeners to bind after one look at the free descriptors. */
const batch = 64;

/** Listeners on the loopback addresses of names. Each connection goes to its name, as the rules route it. */
export class LoopbackListeners implements AsyncDisposable {
  readonly #deps: LoopbackListenersDeps;
  readonly #serving: Tasks;
  readonly #deadlines: Deadlines;
  /** By name, least recently used first. */
  readonly #entries = new Map<string, Entry>();
  readonly #dropping = new Set<AbortController>();
  #limits: ListenerLimits = defaultLimits;
  #bounds: LoopbackLimits = { most: 8192, idle: 600_000 };
  #size = 0;
  #live = 0;
  /** How many listeners fit before the next look at the free descriptors. */
  #room = 0;
  #sweeping: Disposable | undefined;
  #isClosed = false;
  #saidFullAt = -Infinity;

  constructor(deps: LoopbackListenersDeps) {
    this.#deps = deps;
    this.#deadlines = new Deadlines(deps.clock, { keepsTimers: true });
    this.#serving = new Tasks(
      undefined,
      (error) => deps.log.error("listener.failed", { reason: describe(error) }),
    );
  }

  /** The number of listeners. */
  get size(): number {
    return this.#size;
  }

  /** The number of names with listeners. */
  get names(): number {
    return this.#entries.size;
  }

  /** Applies limits to new names and clients. */
  configure(limits: ListenerLimits, bounds: LoopbackLimits): void {
    this.#limits = limits;
    this.#bounds = bounds;
  }

  /**
   * Listens on the ports of a name, and on no other port of its address. Throws if no port can be bound, or if
   * there is no room for the listeners.
   */
  open(
    name: string,
    { address, ports }: { readonly address: string; readonly ports: readonly number[] },
  ): void {
    if (this.#isClosed) throw new PosternError("cancelled", "The instance stopped", { detail: "closing" });
    const entry = this.#entryOf(name, address);
    const refusal = this.#listen(entry, ports);
    const isFull = refusal?.detail === "overloaded";
    if (entry.listening.size > 0 && !isFull) return this.#sweepLater();
    this.#close(entry);
    throw refusal ?? new PosternError("internal", `Cannot listen for "${name}": it has no ports`);
  }

  /** Closes the listeners of names for which `keeps` is false. Live connections stay. */
  retain(keeps: (name: string) => boolean): void {
    for (const entry of [...this.#entries.values()]) if (!keeps(entry.name)) this.#close(entry);
  }

  /** Gives names other ports, without ports closes their listeners. Live connections stay. */
  change(portsOf: (name: string) => readonly number[] | "kept"): void {
    for (const entry of [...this.#entries.values()]) {
      const ports = portsOf(entry.name);
      if (ports === "kept") continue;
      const isFull = ports.length > 0 && this.#listen(entry, ports)?.detail === "overloaded";
      // The next query of the name tries again.
      if (ports.length === 0 || isFull || entry.listening.size === 0) this.#close(entry);
    }
  }

  /** The address of a name if it has a listener on this port. */
  addressOf(name: string, port: number): string | undefined {
    const entry = this.#entries.get(name);
    return entry?.listening.has(port) ? entry.address : undefined;
  }

  /** Keeps the listeners of a name although no client uses them; returns their ports. */
  pin(name: string): readonly number[] | undefined {
    const entry = this.#entries.get(name);
    if (!entry) return undefined;
    entry.isPinned = true;
    return [...entry.listening.keys()].sort((one, other) => one - other);
  }

  /** Lets unused listeners of names for which `keeps` is false close again. */
  unpin(keeps: (name: string) => boolean): void {
    for (const entry of this.#entries.values()) if (!keeps(entry.name)) entry.isPinned = false;
  }

  /** Accepts no more clients; resolves when the last client has left. */
  async drain(): Promise<void> {
    this.#closeAll();
    await this.#serving.idle();
  }

  /** Drops all clients. */
  drop(reason: unknown): void {
    this.#closeAll();
    for (const dropping of this.#dropping) dropping.abort(reason);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.drop(new PosternError("cancelled", "The instance stopped"));
    await this.#serving[Symbol.asyncDispose]();
    this.#deadlines[Symbol.dispose]();
  }

  #closeAll(): void {
    this.#isClosed = true;
    this.retain(() => false);
  }

  /** The entry of a name, now the most recently used one. */
  #entryOf(name: string, address: string): Entry {
    const known = this.#entries.get(name);
    // A name gets another address only when the range changes, or after a long time without use.
    if (known && known.address !== address) this.#close(known);
    const entry: Entry = known?.address === address ? known : {
      name,
      address,
      listening: new Map(),
      dropping: new AbortController(),
      isPinned: false,
      live: 0,
      usedAt: 0,
    };
    if (entry !== known) {
      for (const other of this.#entries.values()) if (other.address === address) this.#close(other);
    }
    entry.usedAt = this.#deps.clock.now();
    this.#entries.delete(name);
    this.#entries.set(name, entry);
    return entry;
  }

  /**
   * Listens on exactly these ports; returns why one of them cannot be bound. A name that keeps a listener reports a
   * port without room instead.
   */
  #listen(entry: Entry, ports: readonly number[]): PosternError | undefined {
    const wanted = new Set(ports.slice(0, mostPorts));
    for (const [port, listening] of entry.listening) {
      if (!wanted.has(port)) this.#unbind(entry, port, listening);
    }
    const isKept = entry.listening.size > 0;
    let refusal: PosternError | undefined;
    for (const port of wanted) {
      const error = entry.listening.has(port) ? undefined : this.#bind(entry, port);
      if (error?.detail === "overloaded") {
        if (!isKept) return error;
        this.#deps.refused({ name: entry.name, address: entry.address, port, error });
        break;
      }
      refusal = error ?? refusal;
    }
    return refusal;
  }

  /** Binds one port; returns why it cannot be bound. */
  #bind(entry: Entry, port: number): PosternError | undefined {
    const { name, address } = entry;
    while (true) {
      const full = this.#makeRoom(entry);
      if (full) return full;
      let listening: Listening;
      try {
        listening = this.#deps.network.listen({ host: address, port });
      } catch (error) {
        if (!(error instanceof PosternError)) throw error;
        if (error.detail === "overloaded") {
          this.#room = 0;
          if (!this.#evict(entry)) return error;
          continue;
        }
        this.#deps.refused({ name, address, port, error });
        return error;
      }
      entry.listening.set(port, listening);
      this.#size++;
      this.#room--;
      this.#serve(entry, port, listening);
      return undefined;
    }
  }

  /** Closes idle listeners until one more fits; returns why none fits. */
  #makeRoom(entry: Entry): PosternError | undefined {
    const { most } = this.#bounds;
    while (this.#size >= most) {
      if (this.#evict(entry)) continue;
      return full(
        entry.name,
        `all ${most} listeners of dns.maxListeners are in use`,
        "raise dns.maxListeners",
      );
    }
    while (this.#room <= 0) {
      if (this.#deps.network.hasRoom?.(reserve + batch) ?? true) this.#room = batch;
      else if (!this.#evict(entry)) {
        return full(entry.name, "too many open files", "raise the limit of open files: ulimit -n");
      }
    }
    return undefined;
  }

  /** Closes the least recently used idle name other than `entry`; false if there is none. */
  #evict(entry: Entry): boolean {
    const before = this.#deps.clock.now() - grace;
    for (const other of this.#entries.values()) {
      if (other === entry || other.live > 0 || other.isPinned || other.usedAt > before) continue;
      this.#close(other);
      return true;
    }
    return false;
  }

  #serve(entry: Entry, port: number, listening: Listening): void {
    const { name, dropping } = entry;
    const forward = serveForward({ host: name, port });
    const { clock, log, dial } = this.#deps;
    const limits = () => this.#limits;
    const deps: ListenerDeps = {
      clock,
      log,
      dial,
      deadlines: this.#deadlines,
      get limits() {
        return limits();
      },
    };
    this.#dropping.add(dropping);
    this.#serving.spawn(async () => {
      const { signal } = dropping;
      await serveListener(
        listening,
        async (client, messages, deps, options) => {
          if (this.#live >= this.#limits.connections) {
            this.#sayFull();
            return client.abort(new PosternError("internal", "Cannot accept another connection"));
          }
          this.#live++;
          entry.live++;
          try {
            await forward(client, messages, deps, options);
          } finally {
            this.#live--;
            entry.live--;
            this.#touch(entry);
          }
        },
        deps,
        { signal },
      );
      // The next name of this address has its own signal.
      if (entry.listening.size === 0 && entry.live === 0) this.#dropping.delete(dropping);
    });
  }

  #sayFull(): void {
    const now = this.#deps.clock.now();
    if (now - this.#saidFullAt < 1000) return;
    this.#saidFullAt = now;
    this.#deps.log.warn("instance.full", { connections: this.#live });
  }

  #touch(entry: Entry): void {
    entry.usedAt = this.#deps.clock.now();
    if (this.#entries.get(entry.name) !== entry) return;
    this.#entries.delete(entry.name);
    this.#entries.set(entry.name, entry);
  }

  #unbind(entry: Entry, port: number, listening: Listening): void {
    entry.listening.delete(port);
    listening.close();
    this.#size--;
    // Connections may use the other descriptors before the next listener needs one.
    this.#room = Math.min(this.#room + 1, batch);
  }

  #close(entry: Entry): void {
    for (const [port, listening] of entry.listening) this.#unbind(entry, port, listening);
    if (this.#entries.get(entry.name) === entry) this.#entries.delete(entry.name);
    if (this.#entries.size > 0) return;
    this.#sweeping?.[Symbol.dispose]();
    this.#sweeping = undefined;
  }

  #sweepLater(): void {
    const { clock } = this.#deps;
    this.#sweeping ??= clock.after(Math.min(sweptEvery, this.#bounds.idle / 10), () => {
      this.#sweeping = undefined;
      this.#sweep();
      if (this.#entries.size > 0) this.#sweepLater();
    });
  }

  /** Closes the listeners of names that no client uses. */
  #sweep(): void {
    const before = this.#deps.clock.now() - this.#bounds.idle;
    let closed = 0;
    for (const entry of [...this.#entries.values()]) {
      if (entry.live > 0 || entry.isPinned) this.#deps.used(entry.address);
      else if (entry.usedAt <= before) {
        closed++;
        this.#close(entry);
      }
    }
    if (closed > 0) this.#deps.log.debug("dns.listeners_closed", { names: closed, listeners: this.#size });
  }
}

function full(name: string, why: string, hint: string): PosternError {
  return new PosternError("internal", `Cannot listen for "${name}": ${why}`, { detail: "overloaded", hint });
}

import {
  type Clock,
  Deadlines,
  describe,
  type Dial,
  type Endpoint,
  formatTarget,
  type Listening,
  type Log,
  type Network,
  PosternError,
  Tasks,
} from "../core/mod.ts";
import {
  Authenticator,
  type DoorKind,
  doorKinds,
  type ListenerDeps,
  type ListenerSettings,
  type ListenSettings,
  type Pages,
  type Serve,
  serveAdmin,
  serveDoor,
  serveHttp,
  serveMixed,
  serveSocks,
} from "../listeners/mod.ts";
import type { User } from "../listeners/mod.ts";

/** One bound place, as `status` shows it. */
export interface BoundListener {
  readonly kind: DoorKind | "admin";
  readonly endpoint: Endpoint;
  readonly address: string;
  readonly hasAuth: boolean;
  /** Who may use it; nobody is asked when empty. */
  readonly users: readonly User[];
}

export interface ListenerSetDeps {
  readonly network: Network;
  readonly clock: Clock;
  readonly log: Log;
  readonly pages: Pages;
  /** The dial of one listener: `only` confines what it reaches. */
  readonly dialFor: (listener: ListenerSettings) => Dial;
  /** Reads the users' passwords; a missing file is a `config` error. */
  readonly usersOf: (listener: ListenerSettings, settings: ListenSettings) => Promise<readonly User[]>;
}

interface Bound extends BoundListener {
  readonly key: string;
  readonly listening: Listening;
}

const serves: Record<DoorKind | "admin", Serve> = {
  mixed: serveMixed,
  unix: serveMixed,
  socks: serveSocks,
  http: serveHttp,
  admin: serveAdmin,
};

/** The sockets of a door. On a reload unchanged ones stay bound, and new ones are bound before any is closed. */
export class ListenerSet implements AsyncDisposable {
  readonly #world: ListenerSetDeps;
  readonly #deadlines: Deadlines;
  readonly #serving: Tasks;
  #bound: readonly Bound[] = [];
  /** What each socket's clients get, by the key of the socket. */
  readonly #deps = new Map<string, LiveDeps>();

  constructor(deps: ListenerSetDeps) {
    this.#world = deps;
    this.#deadlines = new Deadlines(deps.clock, { keepsTimers: true });
    this.#serving = new Tasks(
      undefined,
      (error) => deps.log.error("listener.failed", { reason: describe(error) }),
    );
  }

  get bound(): readonly BoundListener[] {
    return this.#bound;
  }

  /** Binds what the settings name. On failure everything is as before. */
  async apply(settings: ListenSettings, limits: ListenerDeps["limits"]): Promise<void> {
    const wanted = await this.#wanted(settings, limits);
    const kept = this.#bound.filter(({ key }) => wanted.some((one) => one.key === key));
    const added: Bound[] = [];
    try {
      for (const one of wanted) {
        if (!kept.some(({ key }) => key === one.key)) added.push(...this.#bind(one, kept));
      }
    } catch (error) {
      for (const { listening } of added) listening.close();
      throw error;
    }
    for (const { listening, key, address } of this.#bound) {
      if (kept.some((one) => one.key === key)) continue;
      this.#world.log.info("listener.closed", { address });
      this.#deps.delete(key);
      listening.close();
    }
    for (const { key, deps } of wanted) {
      const live = this.#deps.get(key);
      if (live) live.now = deps;
      else this.#deps.set(key, new LiveDeps(deps));
    }
    this.#bound = [...kept, ...added];
    for (const one of added) this.#serve(one);
  }

  /** Takes no more clients; resolves when the last one has ended. */
  async drain(): Promise<void> {
    for (const { listening } of this.#bound) listening.close();
    this.#bound = [];
    await this.#serving.idle();
  }

  /** Drops everyone. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const { listening } of this.#bound) listening.close();
    this.#bound = [];
    await this.#serving[Symbol.asyncDispose]();
    this.#deadlines[Symbol.dispose]();
  }

  async #wanted(settings: ListenSettings, limits: ListenerDeps["limits"]): Promise<Wanted[]> {
    const wanted: Wanted[] = [];
    const { clock, log, pages } = this.#world;
    for (const kind of [...doorKinds, "admin"] as const) {
      for (const listener of settings[kind] ?? []) {
        const users = kind === "admin" ? [] : await this.#world.usersOf(listener, settings);
        const deps: ListenerDeps = {
          dial: this.#world.dialFor(listener),
          clock,
          log,
          deadlines: this.#deadlines,
          limits,
          pages,
          ...(users.length > 0 && { auth: new Authenticator(users, clock) }),
        };
        wanted.push({ kind, listener, users, deps, key: `${kind} ${listener.address.text}` });
      }
    }
    return wanted;
  }

  #bind({ kind, listener, users, key }: Wanted, kept: readonly Bound[]): Bound[] {
    const bound: Bound[] = [];
    let port: number | undefined;
    try {
      for (const { endpoint, mayBeMissing } of listener.address.sockets) {
        // Both families of `localhost:0` get the same port.
        const at = "port" in endpoint && endpoint.port === 0 && port !== undefined
          ? { ...endpoint, port }
          : endpoint;
        let listening: Listening;
        try {
          listening = this.#world.network.listen(at);
        } catch (error) {
          if (mayBeMissing && error instanceof PosternError && error.detail === "network") continue;
          throw error;
        }
        if ("port" in listening.endpoint) port = listening.endpoint.port;
        const address = addressText(listening.endpoint);
        bound.push({
          kind,
          key,
          listening,
          endpoint: listening.endpoint,
          address,
          hasAuth: users.length > 0,
          users,
        });
      }
    } catch (error) {
      for (const { listening } of bound) listening.close();
      throw error;
    }
    if (bound.length === 0 && kept.length === 0) {
      throw new PosternError(
        "config",
        `Cannot listen on ${listener.address.text}: this machine has no such address`,
      );
    }
    return bound;
  }

  #serve({ kind, key, listening, address }: Bound): void {
    const deps = this.#deps.get(key);
    if (!deps) return;
    this.#world.log.info("listener.ready", { kind, address });
    this.#serving.spawn((signal) => serveDoor(listening, serves[kind], deps, { signal }));
  }
}

/** What a socket's clients are given, by the settings of now: a reload reaches a socket that stays bound. */
class LiveDeps implements ListenerDeps {
  now: ListenerDeps;

  constructor(now: ListenerDeps) {
    this.now = now;
  }

  get dial() {
    return this.now.dial;
  }

  get clock() {
    return this.now.clock;
  }

  get log() {
    return this.now.log;
  }

  get deadlines() {
    return this.now.deadlines;
  }

  get limits() {
    return this.now.limits;
  }

  get auth() {
    return this.now.auth;
  }

  get pages() {
    return this.now.pages;
  }
}

interface Wanted {
  readonly kind: DoorKind | "admin";
  readonly listener: ListenerSettings;
  readonly users: readonly User[];
  readonly deps: ListenerDeps;
  readonly key: string;
}

/** `127.0.0.1:12000` or `unix:PATH`. */
export function addressText(endpoint: Endpoint): string {
  return "path" in endpoint ? `unix:${endpoint.path}` : formatTarget(endpoint);
}

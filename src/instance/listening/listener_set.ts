import { type ClientNames, type Clock, Deadlines, type Dial, type Log, Tasks } from "../../core/mod.ts";
import { describe, type Endpoint, formatEndpoint, formatTarget, PosternError } from "../../words/mod.ts";
import type { Files, Listening, Network } from "../../world/mod.ts";
import {
  Authenticator,
  type ForwardSettings,
  type ListenerDeps,
  type ListenerKind,
  listenerKinds,
  type ListenerSettings,
  type ListenSettings,
  type OpenDatagramRelay,
  type Pages,
  type Serve,
  serveAdminAt,
  serveForward,
  serveHttp,
  serveListener,
  serveMixed,
  serveSocks,
  type User,
} from "../../listeners/mod.ts";
import { withHandedOver } from "./handed_over.ts";
import type { LentForwards } from "./lent_forwards.ts";
import { LentListeners } from "./lent_listeners.ts";
import { isWildcard } from "../../plan/mod.ts";
import { LiveDeps } from "./live_deps.ts";
import { removeStaleSocket } from "./stale_socket.ts";

/** One bound listener, as `postern status` shows it. */
export interface BoundListener {
  readonly kind: ListenerKind | "forward" | "admin";
  readonly endpoint: Endpoint;
  readonly address: string;
  readonly hasAuth: boolean;
  /** Its users; no password is needed if empty. */
  readonly users: readonly User[];
  /** Patterns of allowed targets; all targets if undefined. */
  readonly only?: readonly string[] | undefined;
  /** The target and the name of a forward. */
  readonly forward?: Pick<ForwardSettings, "target" | "name"> | undefined;
  /** Whether it ends with the command that requested it. */
  readonly ofCommand?: boolean;
}

export interface ListenerSetDeps {
  readonly network: Network;
  /** Sockets from the service manager, which replace those of the mixed listener. */
  readonly handedOver?: readonly Listening[] | undefined;
  readonly files: Files;
  readonly clock: Clock;
  readonly log: Log;
  readonly pages: Pages;
  /** The dial function of a listener; `only` restricts its targets. */
  readonly dialOf: (listener: ListenerSettings | ForwardSettings) => Dial;
  /** Looks up names for the clients of a listener. */
  readonly namesOf?: (listener: ListenerSettings) => ClientNames;
  /** Relays the datagrams of a listener's clients. */
  readonly datagramsOf?: (listener: ListenerSettings) => OpenDatagramRelay;
  /** The generation of the current plan. */
  readonly generation: () => number;
  /** Reads the users' passwords; a missing file is a `config` error. */
  readonly usersOf: (listener: ListenerSettings, settings: ListenSettings) => Promise<readonly User[]>;
}

interface Bound extends BoundListener {
  /** The endpoint in the settings; a reload keeps the socket while it is the same. */
  readonly key: string;
  readonly listening: Listening;
  readonly deps: ListenerDeps;
}

interface Wanted {
  readonly kind: BoundListener["kind"];
  readonly listener: ListenerSettings | ForwardSettings;
  readonly users: readonly User[];
  readonly deps: ListenerDeps;
  /** Whether a command requested it: the socket is not one of the settings. */
  readonly isLent?: boolean;
}

const serves: Record<ListenerKind, Serve> = {
  mixed: serveMixed,
  unix: serveMixed,
  socks: serveSocks,
  http: serveHttp,
};

/** How many free ports to try until one is free in both address families. */
const mostTries = 10;

/**
 * The listeners of an instance. A reload keeps unchanged ones bound, and binds new ones before it closes any.
 */
export class ListenerSet implements AsyncDisposable {
  readonly #world: ListenerSetDeps;
  readonly #deadlines: Deadlines;
  readonly #serving: Tasks;
  #bound: readonly Bound[] = [];
  /** The forwards of commands, which reloads keep. */
  readonly #lent = new LentListeners<Bound>((bound) => this.#closeSockets(bound));
  /** The dependencies of each socket's client handlers. */
  readonly #live = new Map<Listening, LiveDeps>();
  /** Keyed by user list, so that a reload keeps the count of wrong passwords. */
  #authenticators: ReadonlyMap<string, Authenticator> = new Map();
  #isClosed = false;
  /** The files of bound unix sockets, to remove when the instance stops. */
  readonly #socketFiles = new Set<string>();

  constructor(deps: ListenerSetDeps) {
    this.#world = deps;
    this.#deadlines = new Deadlines(deps.clock, { keepsTimers: true });
    this.#serving = new Tasks(
      undefined,
      (error) => deps.log.error("listener.failed", { reason: describe(error) }),
    );
  }

  get #handedOver(): readonly Listening[] {
    return this.#world.handedOver ?? [];
  }

  get #all(): readonly Bound[] {
    return [...this.#bound, ...this.#lent.bound];
  }

  /** All listeners, those of commands last. */
  get bound(): readonly BoundListener[] {
    return this.#all;
  }

  /** Binds the listeners of the settings. On failure nothing changes. */
  async apply(settings: ListenSettings, limits: ListenerDeps["limits"]): Promise<void> {
    const endpoints = this.#handedOver.map(({ endpoint }) => endpoint);
    const { wanted, authenticators } = await this.#wanted(withHandedOver(settings, endpoints), limits);
    // No await from here on: an instance that started to close meanwhile must not listen again.
    this.#demandOpen();
    const bound: Bound[] = [];
    try {
      for (const one of wanted) bound.push(...this.#bind(one, bound));
    } catch (error) {
      for (const { listening } of bound) if (!this.#live.has(listening)) listening.close();
      throw error;
    }
    const closed = this.#bound.filter(({ listening }) => !bound.some((one) => one.listening === listening));
    const closing = this.#closeSockets(closed);
    this.#bound = bound;
    this.#authenticators = authenticators;
    for (const one of bound) this.#serve(one);
    for (const { listening } of this.#lent.bound) this.#live.get(listening)?.limit(limits);
    await closing;
  }

  /** Binds the forwards of a command, until their end. On failure binds none. */
  async lend(forwards: readonly ForwardSettings[], limits: ListenerDeps["limits"]): Promise<LentForwards> {
    for (const { address } of forwards) {
      for (const { endpoint } of address.sockets) await this.#makeRoom(endpoint);
    }
    // No await from here on, as in `apply`.
    this.#demandOpen();
    this.#lent.demandRoom();
    const bound: Bound[] = [];
    try {
      for (const listener of forwards) {
        const deps = this.#depsOf(listener, limits);
        const wanted: Wanted = { kind: "forward", listener, users: [], deps, isLent: true };
        bound.push(...this.#bind(wanted, [...this.#all, ...bound]));
      }
    } catch (error) {
      for (const { listening } of bound) listening.close();
      throw error;
    }
    const lent = this.#lent.add(bound);
    for (const one of bound) this.#serve(one, lent.until);
    return lent;
  }

  /** Ends the forwards of a command and drops their connections; those of a closed set drain. */
  endLent(id: number): Promise<void> {
    return this.#lent.end(id);
  }

  #demandOpen(): void {
    if (!this.#isClosed) return;
    throw new PosternError("cancelled", "Cannot listen: the instance is stopping", { detail: "closing" });
  }

  async #closeSockets(closed: readonly Bound[]): Promise<void> {
    for (const { listening, address } of closed) {
      this.#world.log.info("listener.closed", { address });
      this.#live.delete(listening);
      listening.close();
    }
    for (const { endpoint } of closed) if ("path" in endpoint) await this.#removeSocket(endpoint.path);
  }

  /** Removes a socket file. A failure is logged; disposal tries again. */
  async #removeSocket(path: string): Promise<void> {
    try {
      await removeStaleSocket(this.#world, path);
    } catch (error) {
      this.#world.log.warn("listener.leftover", { address: `unix:${path}`, reason: describe(error) });
    }
  }

  /** Accepts no more clients; resolves when the last client has left. */
  async drain(): Promise<void> {
    this.#close();
    await this.#serving.idle();
  }

  /** Drops all clients and accepts no more. */
  drop(reason: unknown): void {
    this.#close();
    this.#serving.abort(reason);
  }

  /** Drops all clients. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#close();
    await this.#serving[Symbol.asyncDispose]();
    this.#deadlines[Symbol.dispose]();
    // Another process may listen on the path now, so only a dead socket is removed.
    for (const path of this.#socketFiles) await removeStaleSocket(this.#world, path);
    this.#socketFiles.clear();
  }

  #close(): void {
    this.#isClosed = true;
    for (const { listening } of this.#all) listening.close();
    for (const listening of this.#handedOver) listening.close();
    this.#bound = [];
    this.#lent.release();
    this.#live.clear();
  }

  async #wanted(
    settings: ListenSettings,
    limits: ListenerDeps["limits"],
  ): Promise<{ wanted: Wanted[]; authenticators: Map<string, Authenticator> }> {
    const wanted: Wanted[] = [];
    const authenticators = new Map<string, Authenticator>();
    const { clock } = this.#world;
    for (const kind of [...listenerKinds, "forward", "admin"] as const) {
      for (const listener of settings[kind] ?? []) {
        const users = kind === "admin" || kind === "forward"
          ? []
          : await this.#world.usersOf(listener, settings);
        const whose = JSON.stringify(users);
        const auth = users.length === 0 ? undefined : authenticators.get(whose) ??
          this.#authenticators.get(whose) ?? new Authenticator(users, clock);
        if (auth) authenticators.set(whose, auth);
        const deps: ListenerDeps = {
          ...this.#depsOf(listener, limits),
          auth,
          ...(!("target" in listener) && {
            names: this.#world.namesOf?.(listener),
            datagrams: settings.udp ? this.#world.datagramsOf?.(listener) : undefined,
          }),
        };
        wanted.push({ kind, listener, users, deps });
        for (const { endpoint } of listener.address.sockets) await this.#makeRoom(endpoint);
      }
    }
    return { wanted, authenticators };
  }

  #depsOf(listener: ListenerSettings | ForwardSettings, limits: ListenerDeps["limits"]): ListenerDeps {
    const { clock, log, pages, generation, dialOf } = this.#world;
    return { dial: dialOf(listener), generation, clock, log, deadlines: this.#deadlines, limits, pages };
  }

  /** Removes the socket file of a killed instance, which would prevent binding. */
  async #makeRoom(endpoint: Endpoint): Promise<void> {
    if (!("path" in endpoint) || this.#all.some(({ address }) => address === formatEndpoint(endpoint))) {
      return;
    }
    await removeStaleSocket(this.#world, endpoint.path);
  }

  /** All sockets of a listener: bound ones and new ones. */
  #bind(wanted: Wanted, others: readonly Bound[]): Bound[] {
    const { text, sockets } = wanted.listener.address;
    const isAnyPort = sockets.some(({ endpoint }) => "port" in endpoint && endpoint.port === 0);
    for (let tries = 1;; tries++) {
      const bound: Bound[] = [];
      try {
        for (const socket of sockets) bound.push(...this.#bindOne(socket, wanted, { others, own: bound }));
      } catch (error) {
        const opened = bound.filter(({ listening }) => !this.#live.has(listening));
        for (const { listening } of opened) listening.close();
        // The free port of one address family is in use in the other.
        if (isAnyPort && opened.length > 0 && tries < mostTries) continue;
        throw error;
      }
      if (bound.length > 0) return bound;
      throw new PosternError("config", `Cannot listen on ${text}: this machine does not have that address`, {
        exit: 1,
        detail: "network",
        hint: "use an address of this machine, such as 127.0.0.1 or ::1",
      });
    }
  }

  #bindOne(
    { endpoint, mayBeMissing }: ListenerSettings["address"]["sockets"][number],
    { kind, listener, users, deps, isLent = false }: Wanted,
    { others, own }: { others: readonly Bound[]; own: readonly Bound[] },
  ): Bound[] {
    const named = formatEndpoint(endpoint);
    const isAnyPort = "port" in endpoint && endpoint.port === 0;
    const { only } = listener;
    const forward = "target" in listener ? listener : undefined;
    // The settings may contain port 0 several times.
    const any = `${named}#${forward ? formatEndpoint(forward.target) : ""}`;
    const count = isAnyPort ? others.filter(({ key }) => key.startsWith(`${any}#`)).length : 0;
    const key = isAnyPort ? `${any}#${count}` : named;
    let listening = isLent ? undefined : this.#bound.find((one) => one.key === key)?.listening ??
      this.#handedOver.find((one) => formatEndpoint(one.endpoint) === named);
    try {
      listening ??= this.#world.network.listen(isAnyPort ? samePort(endpoint, own) : endpoint);
    } catch (error) {
      if (mayBeMissing && error instanceof PosternError && error.detail === "network") return [];
      throw ownConflict(error, endpoint, [...this.#all, ...others]);
    }
    const address = formatEndpoint(listening.endpoint);
    const hasAuth = users.length > 0;
    return [{
      kind,
      key,
      listening,
      endpoint: listening.endpoint,
      address,
      hasAuth,
      users,
      only,
      forward,
      ofCommand: isLent,
      deps,
    }];
  }

  #serve(bound: Bound, until?: AbortSignal): void {
    const { kind, listening, endpoint, address, deps, forward } = bound;
    if ("path" in endpoint) this.#socketFiles.add(endpoint.path);
    const now = { deps, serve: serveOf(bound) };
    const known = this.#live.get(listening);
    if (known) return void (known.now = now);
    const live = new LiveDeps(now);
    this.#live.set(listening, live);
    const target = forward && formatEndpoint(forward.target);
    this.#world.log.info("listener.ready", { kind, address, target, name: forward?.name });
    const serve: Serve = (client, messages, deps, options) => live.now.serve(client, messages, deps, options);
    this.#serving.spawn((signal) =>
      serveListener(listening, serve, live, { signal: until ? AbortSignal.any([signal, until]) : signal })
    );
  }
}

function serveOf({ kind, forward, endpoint }: Bound): Serve {
  if (forward) return serveForward(forward.target, forward.name);
  if (kind === "admin") return serveAdminAt(endpoint);
  if (kind !== "forward") return serves[kind];
  throw new PosternError("internal", "Cannot serve a forward without a target");
}

/**
 * Explains a conflict with our own listener: a wildcard address and a specific address cannot share a port.
 */
function ownConflict(error: unknown, endpoint: Endpoint, bound: readonly BoundListener[]): unknown {
  if (!(error instanceof PosternError) || error.detail !== "in_use" || "path" in endpoint) return error;
  const isOverlapping = ({ endpoint: own }: BoundListener) =>
    "port" in own && own.port === endpoint.port &&
    (own.host === endpoint.host || [own.host, endpoint.host].some(isWildcard));
  const other = bound.find(isOverlapping);
  if (!other) return error;
  return new PosternError(
    "config",
    `Cannot listen on ${formatTarget(endpoint)}: this instance already listens on ${other.address}`,
    {
      cause: error,
      exit: 1,
      hint: other.ofCommand
        ? "end the command: postern forward"
        : "configure only one of the two and restart the instance: postern stop",
    },
  );
}

/** Gives both address families of `localhost:0` the same port. */
function samePort(
  endpoint: { readonly host: string; readonly port: number },
  own: readonly Bound[],
): Endpoint {
  const [first] = own;
  return first && "port" in first.endpoint ? { ...endpoint, port: first.endpoint.port } : endpoint;
}

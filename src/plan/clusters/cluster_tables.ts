import { backoff, type Clock, type FarTables, type Log, Tasks, whenAborted, within } from "../../core/mod.ts";
import { describe, isPosternError, parseIp, PosternError, type Target } from "../../words/mod.ts";
import type { TableState } from "../../control/mod.ts";
import {
  comparableHost,
  type Domains,
  type Held,
  mayBeOfCluster,
  type Route,
  type Router,
  type Tables,
} from "../../routing/mod.ts";
import type { BuiltTransports } from "../../transports/mod.ts";
import { heldError, signingIn } from "./held_target.ts";
import type { Surroundings } from "./surroundings.ts";

export interface ClusterTablesOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** The names and addresses of this machine and its networks, which no cluster holds back. */
  readonly here: Surroundings;
  /** Called whenever the tables or the learned facts change, to update the router. */
  readonly changed: (tables: Tables, domains: Domains) => void;
}

interface Followed {
  readonly name: string;
  readonly tables: FarTables;
  readonly ear: Disposable;
  recalling: Promise<void> | undefined;
  /** Set during a query of the cluster: `ended` settles at its end, `soon` also when the query takes long. */
  asking: { readonly ended: Promise<void>; readonly soon: Promise<void> } | undefined;
  isLate: boolean;
  failure: PosternError | undefined;
  /** The earliest time for the next query. */
  notBefore: number;
  /** The number of consecutive failures. */
  failures: number;
  retry: Disposable | undefined;
  /** When a target last needed the table. */
  wantedAt: number;
}

/**
 * The tables for rules with `<services>` and `<clusterips>`, and the facts about what their clusters own. It
 * queries a cluster when the first target comes whose route depends on the table.
 */
export class ClusterTables implements AsyncDisposable {
  readonly #options: ClusterTablesOptions;
  readonly #tasks: Tasks;
  #followed: readonly Followed[] = [];
  #guards = true;
  #change = Promise.withResolvers<void>();

  constructor(options: ClusterTablesOptions) {
    this.#options = options;
    this.#tasks = new Tasks(
      undefined,
      (error) => options.log.error("instance.task_failed", { reason: describe(error) }),
    );
  }

  /**
   * Follows the clusters of these rules instead of the previous ones, and gives the router the known facts
   * about them. With `guards`, the clusters' targets take no other route.
   */
  follow(
    router: Router,
    { byName }: Pick<BuiltTransports, "byName">,
    { guards }: { readonly guards: boolean },
  ): Router {
    const names = new Set(
      router.rules.filter(({ pattern }) => pattern.kind === "services" || pattern.kind === "clusterips")
        .map(({ transport }) => transport),
    );
    this.#guards = guards;
    const before = this.#followed;
    this.#followed = [...names].flatMap((name) => {
      const tables = byName.get(name)?.transport.tables;
      if (!tables) return [];
      const kept = before.find((one) => one.tables === tables && one.name === name);
      const followed = kept ?? this.#new(name, tables);
      // After a reload, query again immediately.
      followed.notBefore = -Infinity;
      followed.failures = 0;
      followed.failure = undefined;
      return [followed];
    });
    for (const one of before) if (!this.#followed.includes(one)) drop(one);
    for (const one of this.#followed) this.#recall(one);
    this.#wake();
    return router.withTables(this.#tables(), this.#domains());
  }

  #new(name: string, tables: FarTables): Followed {
    return {
      name,
      tables,
      ear: tables.onChange(() => this.#gather()),
      recalling: undefined,
      asking: undefined,
      isLate: false,
      failure: undefined,
      notBefore: -Infinity,
      failures: 0,
      retry: undefined,
      wantedAt: -Infinity,
    };
  }

  /**
   * Returns the route of a target, after the answers of clusters that could change it. Waits only while a
   * query is running. If the route is still held back, the caller must reject it with `refusal`.
   */
  async route(
    target: Target,
    router: () => Router,
    { signal }: { readonly signal: AbortSignal },
  ): Promise<Route> {
    const { here } = this.#options;
    for (let isFirst = true;; isFirst = false) {
      const changed = this.#change.promise;
      let route = router().route(target);
      if (route.held && !here.isFresh) {
        await here.look({ signal });
        // A cluster may have answered meanwhile.
        route = router().route(target);
      }
      if (route.held && this.#isReleased(target, route.held)) return route.held.otherwise;
      if (isFirst) this.#allowSignIn(route);
      const waits = this.#waitsFor(target, route);
      if (waits.length === 0 || signal.aborted) return route;
      const { promise, resolve } = Promise.withResolvers<void>();
      using _stop = whenAborted(signal, () => resolve());
      await Promise.race([...waits, changed, promise]);
    }
  }

  /** Whether `route` would wait, or return another route than the router's. */
  needsLook(target: Target, route: Route): boolean {
    if (this.#followed.length === 0) return false;
    return route.held !== undefined || this.#isUnrecalled(route) || this.#mayChange(target, route);
  }

  /** Returns the error for a target that is held back. */
  refusal(target: Target, held: Held): PosternError {
    return heldError(target, held, (transport) => {
      const one = this.#named(transport);
      const isKnown = one?.tables.current !== undefined;
      const signingInWith = one?.tables.signingInWith;
      return { isKnown, signingInWith, ...(one?.failure && !isKnown && { failure: one.failure }) };
    });
  }

  /** Returns the state of a transport's table; undefined when no rule uses the table. */
  state(transport: string): TableState | undefined {
    const one = this.#named(transport);
    if (!one) return undefined;
    if (one.tables.current) return { state: "known" };
    const { failure, asking, tables: { signingInWith } } = one;
    if (signingInWith !== undefined) return { state: "asking", reason: signingIn(signingInWith) };
    return {
      state: asking ? "asking" : "unknown",
      ...(failure &&
        { reason: describe(failure), ...(failure.hint !== undefined && { hint: failure.hint }) }),
    };
  }

  /** Returns the learned facts of each cluster, after all stored facts were read. */
  async domains({ signal }: { readonly signal: AbortSignal }): Promise<Domains> {
    for (const one of this.#followed) if (!one.tables.isRecalled) await one.tables.recall({ signal });
    return this.#domains();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const one of this.#followed) drop(one);
    this.#followed = [];
    await this.#tasks[Symbol.asyncDispose]();
  }

  #named(transport: string): Followed | undefined {
    return this.#followed.find(({ name }) => name === transport);
  }

  /**
   * Whether the guard releases a held target. It releases addresses of this machine and its networks, unless
   * a known cluster owns them. It also releases API servers, which a user must reach to sign in again.
   */
  #isReleased({ host }: Target, { owners }: Held): boolean {
    if (owners.some(({ isSure }) => isSure)) return false;
    const name = comparableHost(host);
    return this.#options.here.has(host) ||
      this.#followed.some(({ tables: { server } }) =>
        server !== undefined && comparableHost(server) === name
      );
  }

  /**
   * Only a request that one cluster alone can answer may retry a failed sign-in, which may open a browser
   * window.
   */
  #allowSignIn({ held }: Route): void {
    for (const { transport, isSure } of held?.owners ?? []) {
      const one = this.#named(transport);
      if (!isSure || one?.failure?.detail !== "sign_in" || one.asking) continue;
      one.tables.allowSignIn?.();
      one.notBefore = -Infinity;
    }
  }

  #waitsFor(target: Target, route: Route): readonly Promise<void>[] {
    const now = this.#options.clock.now();
    if (route.held || this.#isUnrecalled(route)) {
      const recalls = this.#followed.flatMap((one) => this.#recall(one) ?? []);
      if (recalls.length > 0) return recalls;
    }
    if (!route.held && !this.#mayChange(target, route)) return [];
    const { held } = route;
    const needed = held
      ? held.owners.flatMap(({ transport }) => this.#named(transport) ?? [])
      : this.#followed;
    return needed.flatMap((one) => {
      if (isSettled(one)) return [];
      one.wantedAt = now;
      if (now >= one.notBefore) this.#ask(one);
      if (!one.asking) return [];
      // A held target waits for the whole query, a target with a route only for a quick answer.
      if (held) return [one.asking.ended];
      return one.isLate ? [] : [one.asking.soon];
    });
  }

  /** Whether stored facts of a cluster that were not read yet could hold the target back. */
  #isUnrecalled({ rule }: Route): boolean {
    const kind = rule?.pattern.kind;
    const isOpen = kind === undefined || kind === "any" || kind === "network";
    return isOpen && this.#guards && this.#followed.some(({ tables }) => !tables.isRecalled);
  }

  /** Whether unknown facts could change the route of a target that is not held back. */
  #mayChange({ host }: Target, { rule, transport }: Route): boolean {
    if (!this.#followed.some((one) => !isSettled(one) && one.name !== transport)) return false;
    if (!isShort(host) && parseIp(host) === undefined) return false;
    if (rule === undefined || rule.pattern.kind === "any") return !this.#guards || mayBeOfCluster(host);
    const { pattern, tier } = rule;
    if (pattern.kind === "services" || pattern.kind === "clusterips" || tier === "direct") return false;
    return !(pattern.kind === "name" && pattern.scope === "exact");
  }

  #recall(one: Followed): Promise<void> | undefined {
    if (one.tables.isRecalled) return undefined;
    if (one.recalling) return one.recalling;
    const { promise, resolve } = Promise.withResolvers<void>();
    one.recalling = promise;
    this.#tasks.spawn(async (signal) => {
      try {
        await one.tables.recall({ signal });
      } finally {
        one.recalling = undefined;
        resolve();
        this.#gather();
      }
    });
    return promise;
  }

  #ask(one: Followed): void {
    if (one.asking || one.tables.current) return;
    const { clock, log } = this.#options;
    const ended = Promise.withResolvers<void>();
    const soon = Promise.withResolvers<void>();
    one.asking = { ended: ended.promise, soon: soon.promise };
    one.retry?.[Symbol.dispose]();
    one.retry = undefined;
    // Targets with a route do not wait for a slow cluster.
    const late = clock.after(patience, () => {
      one.isLate = true;
      soon.resolve();
    });
    this.#tasks.spawn(async (signal) => {
      try {
        await within(
          { clock, ms: longest, signal, error: () => tooLate(one.name) },
          (signal) => one.tables.follow({ signal, learns: this.#guards }),
        );
        one.failure = undefined;
        one.failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        const failure = error instanceof PosternError ? error : undefined;
        const isNew = !one.failure || !isSame(error, one.failure);
        one.failure = failure;
        this.#rest(one);
        if (isNew) {
          log.warn("routes.no_table", {
            transport: one.name,
            reason: describe(error),
            ...(failure?.hint !== undefined && { hint: failure.hint }),
          });
        }
        if (!failure || isPosternError(error, "internal")) throw error;
      } finally {
        late[Symbol.dispose]();
        one.asking = undefined;
        one.isLate = false;
        soon.resolve();
        ended.resolve();
      }
    });
  }

  /** Schedules the next query, while targets need the table. */
  #rest(one: Followed): void {
    const { clock } = this.#options;
    // A sign-in may outlast single requests; during one, query again soon.
    const pause = one.tables.signingInWith === undefined ? backoff(one.failures, pauses) : whileSigningIn;
    one.notBefore = clock.now() + pause;
    one.retry = clock.after(pause, () => {
      one.retry = undefined;
      if (clock.now() - one.wantedAt < wantedFor) this.#ask(one);
    });
    one.failures++;
  }

  #gather(): void {
    this.#options.changed(this.#tables(), this.#domains());
    this.#wake();
  }

  #wake(): void {
    this.#change.resolve();
    this.#change = Promise.withResolvers();
  }

  #tables(): Tables {
    return new Map(
      this.#followed.flatMap(({ name, tables: { current } }) => current ? [[name, current]] : []),
    );
  }

  #domains(): Domains {
    return new Map(this.#guards ? this.#followed.map(({ name, tables: { domain } }) => [name, domain]) : []);
  }
}

/** How long a connection with a route may wait for a table, in ms. */
const patience = 6_000;
/** The timeout of a query, in ms. */
const longest = 60_000;
/** The pause after a failed query, in ms; it doubles with each further failure. */
const pauses = { first: 5_000, most: 60_000 };
const whileSigningIn = 1_000;
/** How long to keep querying after the last target that needed the table, in ms. */
const wantedFor = 10 * 60_000;

/**
 * Whether everything is known: the table, and the facts about what the cluster owns, which arrive shortly
 * after it.
 */
function isSettled({ tables, asking }: Followed): boolean {
  return tables.current !== undefined && !asking;
}

/**
 * Whether the log has this error already. The message of a failed sign-in contains its age, which is ignored.
 */
function isSame(error: unknown, before: PosternError): boolean {
  const isSignIn = error instanceof PosternError && error.detail === "sign_in";
  return isSignIn ? before.detail === "sign_in" : describe(error) === describe(before);
}

function drop({ ear, retry }: Followed): void {
  ear[Symbol.dispose]();
  retry?.[Symbol.dispose]();
}

function tooLate(name: string): PosternError {
  return new PosternError(
    "timeout",
    `Cannot list the Services of "${name}": no answer within ${longest / 1000} s`,
  );
}

/** Whether a name has one or two labels. */
function isShort(host: string): boolean {
  const end = host.endsWith(".") ? host.length - 1 : host.length;
  const first = host.indexOf(".");
  if (first < 0 || first === end) return true;
  const second = host.indexOf(".", first + 1);
  return second < 0 || second === end;
}

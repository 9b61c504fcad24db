import {
  type Clock,
  describe,
  type FarTable,
  type FarTables,
  isPosternError,
  type Log,
  parseIp,
  PosternError,
  type Target,
  Tasks,
  whenAborted,
  within,
} from "../core/mod.ts";
import type { Router, Tables } from "../routing/mod.ts";
import type { Transports } from "../transports/mod.ts";

export interface ClusterTablesOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Told whenever the tables are others: the router gets them then. */
  readonly changed: (tables: Tables) => void;
}

interface Followed {
  readonly name: string;
  readonly tables: FarTables;
  readonly ear: Disposable;
  /** While it is being found out for the first time, and when that may be tried again. */
  following: Promise<void> | undefined;
  notBefore: number;
  isLate: boolean;
}

/**
 * What rules with `<services>` and `<clusterips>` look up: the tables of the clusters that they lead to. Nobody asks a
 * cluster for its table before a target comes that the table could decide.
 */
export class ClusterTables implements AsyncDisposable {
  readonly #options: ClusterTablesOptions;
  readonly #tasks: Tasks;
  #followed: readonly Followed[] = [];
  #current: Tables = new Map();

  constructor(options: ClusterTablesOptions) {
    this.#options = options;
    this.#tasks = new Tasks(
      undefined,
      (error) => options.log.error("door.task_failed", { reason: describe(error) }),
    );
  }

  /** Follows the clusters of these rules instead of those before; gives what is known of them already. */
  follow({ rules }: Pick<Router, "rules">, { byName }: Pick<Transports, "byName">): Tables {
    const names = new Set(
      rules.filter(({ pattern }) => pattern.kind === "services" || pattern.kind === "clusterips")
        .map(({ transport }) => transport),
    );
    const before = this.#followed;
    this.#followed = [...names].flatMap((name) => {
      const tables = byName.get(name)?.transport.tables;
      if (!tables) return [];
      const kept = before.find((one) => one.tables === tables && one.name === name);
      if (kept) return [kept];
      const ear = tables.onChange(() => this.#gather());
      return [{ name, tables, ear, following: undefined, notBefore: -Infinity, isLate: false }];
    });
    for (const one of before) if (!this.#followed.includes(one)) one.ear[Symbol.dispose]();
    this.#current = tablesOf(this.#followed);
    return this.#current;
  }

  /** Whether a table that is not known yet could decide where a target goes. */
  mayDecide({ host }: Target): boolean {
    if (!this.#followed.some(({ tables }) => tables.current === undefined)) return false;
    return isShort(host) || parseIp(host) !== undefined;
  }

  /** Waits for what is not known yet, as long as that is worth it; what stays unknown is logged and matches nothing. */
  async known({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    // A reload meanwhile may have brought other clusters, whose tables decide then.
    let asked: readonly Followed[] | undefined;
    while (asked !== this.#followed && !signal.aborted) {
      asked = this.#followed;
      await this.#wait(signal);
    }
  }

  async #wait(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const waits = this.#followed.flatMap((one) => {
      if (one.tables.current !== undefined || clock.now() < one.notBefore) return [];
      this.#begin(one);
      return one.following && !one.isLate ? [one.following] : [];
    });
    if (waits.length === 0) return;
    // Who gives up is told so by what comes next.
    const { promise, resolve } = Promise.withResolvers<void>();
    using _stop = whenAborted(signal, () => resolve());
    await Promise.race([Promise.all(waits), promise]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { ear } of this.#followed) ear[Symbol.dispose]();
    this.#followed = [];
    await this.#tasks[Symbol.asyncDispose]();
  }

  #begin(one: Followed): void {
    if (one.following) return;
    const { clock, log } = this.#options;
    const { promise, resolve } = Promise.withResolvers<void>();
    one.following = promise;
    // Others need not wait for what is slow; it goes on, and tells when it knows.
    const late = clock.after(patience, () => {
      one.isLate = true;
      resolve();
    });
    this.#tasks.spawn(async (signal) => {
      try {
        await within(
          { clock, ms: longest, signal, error: () => tooLate(one.name) },
          (signal) => one.tables.follow({ signal }),
        );
      } catch (error) {
        if (signal.aborted) return;
        one.notBefore = clock.now() + pauseAfterFailure;
        const hint = error instanceof PosternError ? error.hint : undefined;
        log.warn("routes.no_table", {
          transport: one.name,
          reason: describe(error),
          ...(hint !== undefined && { hint }),
        });
        if (!(error instanceof PosternError) || isPosternError(error, "internal")) throw error;
      } finally {
        late[Symbol.dispose]();
        one.following = undefined;
        one.isLate = false;
        resolve();
      }
    });
  }

  #gather(): void {
    this.#current = tablesOf(this.#followed);
    this.#options.changed(this.#current);
  }
}

/** How long a connection may be kept waiting for a table, in ms. */
const patience = 6_000;
/** How long it may take until it is known, in ms. */
const longest = 60_000;
/** How long nobody waits after a failure, in ms. */
const pauseAfterFailure = 5_000;

function tablesOf(followed: readonly Followed[]): Tables {
  return new Map(
    followed.flatMap(({ name, tables: { current } }): [string, FarTable][] =>
      current ? [[name, current]] : []
    ),
  );
}

function tooLate(name: string): PosternError {
  return new PosternError(
    "timeout",
    `Cannot list the Services of "${name}": no answer within ${longest / 1000} s`,
  );
}

/** A name of one label or two. */
function isShort(host: string): boolean {
  const end = host.endsWith(".") ? host.length - 1 : host.length;
  const first = host.indexOf(".");
  if (first < 0 || first === end) return true;
  const second = host.indexOf(".", first + 1);
  return second < 0 || second === end;
}

import { type Clock, Tasks } from "../../core/mod.ts";
import { isPosternError, normalHost } from "../../words/mod.ts";
import type {
  ClusterView,
  ClusterViewStatus,
  PodRecord,
  ServiceRecord,
  SliceRecord,
} from "./cluster_view.ts";
import type { KubeApi } from "./kube_api.ts";
import { PodReader } from "./pod_reader.ts";
import { WatchedScope } from "./watched_scope.ts";

export interface KubeViewParts {
  readonly api: KubeApi;
  readonly clock: Clock;
  /** Returns a number from 0 to below 1; default: `Math.random`. */
  readonly random?: () => number;
}

/** Above this number of namespaces, one watch of the whole cluster is cheaper. */
const mostNamespaces = 8;
/** After this time without a request, postern stops watching a namespace; and how often it checks, in ms. */
const unusedFor = 30 * 60_000;
const lookEvery = 60_000;
/** How long a failure stays before the next request retries it, in ms. */
const failedFor = 1_000;
/**
 * How long to wait, in ms, before asking again for the right to watch the whole cluster, if only to save
 * watches.
 */
const narrowFor = 10 * 60_000;
/** Events within this time cause one notification, in ms. */
const gathering = 50;

/** Holds the objects that dials need, by watching the namespaces that callers asked for. */
export class KubeView implements ClusterView {
  readonly #parts: Required<KubeViewParts>;
  readonly #scopes = new Map<string, WatchedScope>();
  #cluster: WatchedScope | undefined;
  /** When the server last refused the watch of the whole cluster, by the clock. */
  #refusedAt: number | undefined;
  readonly #pods: PodReader;
  readonly #listeners = new Set<() => void>();
  readonly #tasks = new Tasks(undefined, () => {});
  #telling: Disposable | undefined;
  #looking: Disposable | undefined;

  constructor({ api, clock, random = Math.random }: KubeViewParts) {
    this.#parts = { api, clock, random };
    this.#pods = new PodReader({ api, clock });
  }

  async ready(
    namespace: string | undefined,
    { signal }: { readonly signal: AbortSignal },
  ): Promise<void> {
    signal.throwIfAborted();
    this.#looking ??= this.#parts.clock.after(lookEvery, this.#look);
    if (this.#cluster?.isSynced) return await this.#cluster.ready({ signal });
    if (namespace === undefined) return await this.#wide().ready({ signal });
    const scope = this.#scope(namespace);
    if (this.#scopes.size > mostNamespaces && this.#mayWiden()) this.#wide();
    try {
      await scope.ready({ signal });
    } catch (error) {
      signal.throwIfAborted();
      // A watch of the whole cluster replaced this one and holds the same objects.
      if (!this.#cluster?.isSynced) throw error;
    }
  }

  isReady(namespace: string | undefined): boolean {
    if (this.#cluster?.isSynced) return true;
    return namespace !== undefined && this.#scopes.get(namespace)?.isSynced === true;
  }

  service(namespace: string, name: string): ServiceRecord | undefined {
    return this.#tableOf(namespace)?.service(namespace, name);
  }

  *services(namespace?: string): Iterable<ServiceRecord> {
    const scopes = this.#cluster?.isSynced ? [this.#cluster] : [...this.#scopes.values()];
    if (namespace !== undefined) yield* this.#tableOf(namespace)?.services(namespace) ?? [];
    else for (const { table } of scopes) yield* table.services();
  }

  endpoints(namespace: string, service: string): readonly SliceRecord[] {
    return this.#tableOf(namespace)?.endpoints(namespace, service) ?? [];
  }

  byClusterIp(ip: string): ServiceRecord | undefined {
    const address = normalHost(ip);
    if (this.#cluster?.isSynced) return this.#cluster.table.byClusterIp(address);
    for (const { table } of this.#scopes.values()) {
      const found = table.byClusterIp(address);
      if (found) return found;
    }
    return undefined;
  }

  async podByName(
    namespace: string,
    name: string,
    options: { readonly signal: AbortSignal; readonly isFresh?: boolean },
  ): Promise<PodRecord | undefined> {
    return await this.#pods.byName(namespace, name, options);
  }

  async podByIp(
    ip: string,
    { signal, namespaces = [] }: { readonly signal: AbortSignal; readonly namespaces?: readonly string[] },
  ): Promise<readonly PodRecord[]> {
    try {
      return await this.#pods.byIp(ip, { signal });
    } catch (error) {
      const some = [...new Set([...namespaces, ...this.#scopes.keys()])];
      if (!isPosternError(error, "not_allowed") || some.length === 0) throw error;
      return await this.#pods.byIpIn(ip, some, { signal });
    }
  }

  forgetPods(): void {
    this.#pods.forget();
  }

  check(): void {
    this.#parts.api.check();
    this.#pods.forget();
    for (const scope of this.#all()) scope.renew();
  }

  onChange(changed: () => void): Disposable {
    this.#listeners.add(changed);
    return { [Symbol.dispose]: () => void this.#listeners.delete(changed) };
  }

  status(): ClusterViewStatus {
    return { watches: this.#all().flatMap((scope) => scope.status()) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#telling?.[Symbol.dispose]();
    this.#looking?.[Symbol.dispose]();
    this.#listeners.clear();
    this.#pods.dispose();
    const all = this.#all();
    this.#scopes.clear();
    this.#cluster = undefined;
    await Promise.all(all.map((scope) => scope[Symbol.asyncDispose]()));
    await this.#tasks[Symbol.asyncDispose]();
  }

  #all(): WatchedScope[] {
    return [...this.#cluster ? [this.#cluster] : [], ...this.#scopes.values()];
  }

  #tableOf(namespace: string): WatchedScope["table"] | undefined {
    const scope = this.#cluster?.isSynced ? this.#cluster : this.#scopes.get(namespace);
    if (scope) scope.lastUsed = this.#parts.clock.now();
    return scope?.table;
  }

  #scope(namespace: string): WatchedScope {
    const known = this.#scopes.get(namespace);
    if (known && !this.#mayRetry(known)) return known;
    if (known) this.#drop(known);
    const scope = new WatchedScope(namespace, this.#parts, this.#changed);
    this.#scopes.set(namespace, scope);
    return scope;
  }

  #wide(): WatchedScope {
    const known = this.#cluster;
    if (known && !this.#mayRetry(known)) return known;
    if (known) this.#drop(known);
    const scope = this.#cluster = new WatchedScope(undefined, this.#parts, this.#changed);
    this.#tasks.spawn(async (signal) => {
      try {
        await scope.ready({ signal });
      } catch (error) {
        if (!signal.aborted && isPosternError(error, "not_allowed")) {
          this.#refusedAt = this.#parts.clock.now();
        }
        return;
      }
      // The watch of the whole cluster holds their objects too.
      for (const narrow of this.#scopes.values()) this.#drop(narrow);
      this.#scopes.clear();
    });
    return scope;
  }

  /** Widening only saves watches, so a refused attempt is not repeated soon. */
  #mayWiden(): boolean {
    if (this.#cluster?.failedAt === undefined && this.#cluster) return false;
    return this.#refusedAt === undefined || this.#parts.clock.now() - this.#refusedAt > narrowFor;
  }

  #mayRetry({ failedAt, hasFailedSignIn }: WatchedScope): boolean {
    if (failedAt === undefined) return false;
    return hasFailedSignIn || this.#parts.clock.now() - failedAt >= failedFor;
  }

  #drop(scope: WatchedScope): void {
    this.#tasks.spawn(() => scope[Symbol.asyncDispose]());
  }

  readonly #changed = (): void => {
    if (this.#listeners.size === 0) return;
    this.#telling ??= this.#parts.clock.after(gathering, () => {
      this.#telling = undefined;
      for (const tell of [...this.#listeners]) tell();
    });
  };

  readonly #look = (): void => {
    const now = this.#parts.clock.now();
    for (const [namespace, scope] of this.#scopes) {
      if (now - scope.lastUsed < unusedFor) continue;
      this.#scopes.delete(namespace);
      this.#drop(scope);
    }
    if (this.#cluster && now - this.#cluster.lastUsed >= unusedFor) {
      this.#drop(this.#cluster);
      this.#cluster = undefined;
    }
    const isEmpty = this.#scopes.size === 0 && !this.#cluster;
    this.#looking = isEmpty ? undefined : this.#parts.clock.after(lookEvery, this.#look);
  };
}

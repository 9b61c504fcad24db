import type { ClusterView } from "../../clusters/mod.ts";
import {
  type Clock,
  type FarTable,
  type FarTables,
  formatIp,
  isPosternError,
  parseIp,
  unmapped,
} from "../../core/mod.ts";

/** The Services of a cluster and the addresses of what is behind them, for rules with `<services>` and `<clusterips>`. */
export class ClusterTable implements FarTables, Disposable {
  readonly #view: ClusterView;
  readonly #namespace: string;
  readonly #listeners = new Set<() => void>();
  #following: Disposable | undefined;
  #current: FarTable | undefined;

  readonly #clock: Clock;
  readonly #ended = new AbortController();
  #resting: Disposable | undefined;

  constructor(
    view: ClusterView,
    { namespace, clock }: { readonly namespace: string; readonly clock: Clock },
  ) {
    this.#view = view;
    this.#namespace = namespace;
    this.#clock = clock;
  }

  get current(): FarTable | undefined {
    return this.#current;
  }

  /** The whole cluster where that is allowed, else the namespace of names without one. */
  async follow(options: { readonly signal: AbortSignal }): Promise<void> {
    if (this.#current) return;
    await this.#hold(options.signal);
    this.#ended.signal.throwIfAborted();
    this.#resting ??= this.#clock.after(askedEvery, this.#ask);
    this.#following ??= this.#view.onChange(() => this.#make());
    if (!this.#current) this.#make();
  }

  onChange(changed: () => void): Disposable {
    this.#listeners.add(changed);
    return { [Symbol.dispose]: () => void this.#listeners.delete(changed) };
  }

  [Symbol.dispose](): void {
    this.#ended.abort(new DOMException("The cluster was given up", "AbortError"));
    this.#resting?.[Symbol.dispose]();
    this.#following?.[Symbol.dispose]();
    this.#listeners.clear();
  }

  async #hold(signal: AbortSignal): Promise<void> {
    try {
      await this.#view.ready(undefined, { signal });
    } catch (error) {
      if (!isPosternError(error, "not_allowed")) throw error;
      await this.#view.ready(this.#namespace, { signal });
    }
  }

  /** What nobody asks for is not held for ever; a table is of use only while it is. */
  readonly #ask = (): void => {
    this.#resting = this.#clock.after(askedEvery, this.#ask);
    // That a watch has trouble is told by the view's status.
    this.#hold(this.#ended.signal).catch(() => {});
  };

  #make(): void {
    this.#current = tableOf(this.#view, this.#namespace);
    for (const changed of this.#listeners) changed();
  }
}

/** In ms. */
const askedEvery = 5 * 60_000;

/** Everything that is held, as rules look it up. */
export function tableOf(view: Pick<ClusterView, "services" | "endpoints">, usual: string): FarTable {
  const services = new Set<string>();
  const addresses = new Set<string>();
  for (const { namespace, name, clusterIps } of view.services()) {
    services.add(`${name}.${namespace}`);
    if (namespace === usual) services.add(name);
    for (const ip of clusterIps) addresses.add(canonical(ip));
    for (const { addressType, endpoints } of view.endpoints(namespace, name)) {
      if (addressType === "FQDN") continue;
      for (const { addresses: [ip], pod } of endpoints) {
        if (ip !== undefined && pod !== undefined) addresses.add(canonical(ip));
      }
    }
  }
  return { services, addresses };
}

function canonical(ip: string): string {
  // Nearly all are, and of IPv4 all.
  if (!ip.includes(":")) return ip;
  const bytes = parseIp(ip);
  return bytes ? formatIp(unmapped(bytes)) : ip;
}

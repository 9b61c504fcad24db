import type { ClusterView } from "../api/cluster_view.ts";
import type { KubeApi } from "../api/kube_api.ts";
import {
  type Clock,
  type FarDomain,
  type FarTable,
  type FarTables,
  isOwnable,
  type Log,
  Tasks,
  within,
} from "../../core/mod.ts";
import { describe, formatIp, isPosternError, parseIp, PosternError, unmapped } from "../../words/mod.ts";
import { surveyCluster } from "./cluster_survey.ts";
import { dayOf, LearnedFacts } from "./learned_facts.ts";
import type { LearnedStore } from "./learned_store.ts";

export interface ClusterTableParts {
  readonly view: ClusterView;
  readonly api: Pick<KubeApi, "name" | "json" | "allowSignIn" | "status">;
  readonly clock: Clock;
  readonly log: Log;
  /** The namespace of names without one. */
  readonly namespace: string;
  /** The host of the API server, if it is reached directly. */
  readonly server?: string | undefined;
  /** The pod networks from the configuration. */
  readonly podNetworks: readonly string[];
  /** Stores learned facts; if absent, they are not stored. */
  readonly store?: LearnedStore | undefined;
}

/**
 * The Services of a cluster and the addresses of their pods, for rules with `<services>` and `<clusterips>`,
 * and the cluster's learned networks and namespaces.
 */
export class ClusterTable implements FarTables, AsyncDisposable {
  readonly #parts: ClusterTableParts;
  readonly #facts: LearnedFacts;
  readonly #listeners = new Set<() => void>();
  readonly #tasks: Tasks;
  #following: Disposable | undefined;
  #current: FarTable | undefined;
  /** The table that the listeners have seen. */
  #told: FarTable | undefined;
  #domain: FarDomain | undefined;
  #recalling: Promise<void> | undefined;
  #isRecalled = false;
  /** Whether a rule needs the learned networks and namespaces. */
  #learns = false;
  #isSurveyed = false;
  /** The namespace that the table covers; undefined means the whole cluster. */
  #scope: string | undefined;
  #resting: Disposable | undefined;
  #asked = 0;
  #saving: Disposable | undefined;
  #savedOn: number | undefined;
  #unsaved: string | undefined;

  constructor(parts: ClusterTableParts) {
    this.#parts = parts;
    this.#facts = new LearnedFacts({ usual: parts.namespace, podNetworks: parts.podNetworks });
    this.#tasks = new Tasks(
      undefined,
      (error) =>
        parts.log.warn("kubernetes.facts_failed", { cluster: parts.api.name, reason: describe(error) }),
    );
  }

  get current(): FarTable | undefined {
    return this.#current;
  }

  get domain(): FarDomain | undefined {
    return this.#domain;
  }

  get server(): string | undefined {
    return this.#parts.server;
  }

  get signingInWith(): string | undefined {
    return this.#parts.api.status().signingInWith;
  }

  get isRecalled(): boolean {
    return this.#isRecalled;
  }

  allowSignIn(): void {
    this.#parts.api.allowSignIn();
  }

  /** Loads the facts that an earlier run stored. */
  recall(): Promise<void> {
    return this.#recalling ??= this.#recall();
  }

  async #recall(): Promise<void> {
    const { api, clock, log, store } = this.#parts;
    try {
      const text = await store?.read();
      if (text !== undefined) this.#facts.load(text, dayOf(clock.date()));
    } catch (error) {
      if (!(error instanceof PosternError)) throw error;
      log.warn("kubernetes.facts_unread", { cluster: api.name, reason: describe(error) });
    } finally {
      this.#isRecalled = true;
    }
    this.#take();
  }

  /** Follows the whole cluster if allowed, otherwise the default namespace. */
  async follow(
    { signal, learns = false }: { readonly signal: AbortSignal; readonly learns?: boolean },
  ): Promise<void> {
    if (this.#current && (this.#isSurveyed || !learns)) return;
    this.#learns ||= learns;
    if (learns) await this.recall();
    await this.#hold(signal);
    this.#tasks.signal.throwIfAborted();
    this.#resting ??= this.#parts.clock.after(askedEvery, this.#ask);
    this.#following ??= this.#parts.view.onChange(() => this.#make());
    if (!this.#current) this.#make();
    if (learns && !this.#isSurveyed) await this.#survey(signal);
  }

  onChange(changed: () => void): Disposable {
    this.#listeners.add(changed);
    return { [Symbol.dispose]: () => void this.#listeners.delete(changed) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#resting?.[Symbol.dispose]();
    this.#following?.[Symbol.dispose]();
    this.#listeners.clear();
    if (this.#saving) {
      this.#saving[Symbol.dispose]();
      await this.#save();
    }
    await this.#tasks[Symbol.asyncDispose]();
  }

  async #hold(signal: AbortSignal): Promise<void> {
    const { view, namespace } = this.#parts;
    try {
      await view.ready(undefined, { signal });
      this.#scope = undefined;
    } catch (error) {
      if (!isPosternError(error, "not_allowed")) throw error;
      await view.ready(namespace, { signal });
      this.#scope = namespace;
    }
  }

  /** Reads the cluster's networks and namespaces. A failure is retried later, because they are optional. */
  async #survey(signal: AbortSignal): Promise<void> {
    const { api, clock, log } = this.#parts;
    const error = () =>
      new PosternError(
        "timeout",
        `Cannot read the networks of "${api.name}": no answer within ${surveyLimit / 1000} s`,
      );
    try {
      const survey = await within(
        { clock, ms: surveyLimit, signal, error },
        (signal) => surveyCluster(api, { signal }),
      );
      this.#facts.survey(survey, dayOf(clock.date()));
      this.#isSurveyed = true;
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof PosternError)) throw error;
      log.debug("kubernetes.facts_unknown", { cluster: api.name, reason: describe(error) });
    }
    this.#facts.see(this.#parts.view, dayOf(clock.date()));
    this.#take();
    this.#saveSoon();
  }

  /** Keeps the watches alive while a rule needs the table; unused watches end. */
  readonly #ask = (): void => {
    this.#resting = this.#parts.clock.after(askedEvery, this.#ask);
    this.#asked++;
    const isDue = this.#learns && (!this.#isSurveyed || this.#asked % surveyedEvery === 0);
    this.#tasks.spawn(async (signal) => {
      try {
        await this.#hold(signal);
        if (isDue) await this.#survey(signal);
      } catch (error) {
        // The view's status reports failing watches.
        if (!signal.aborted && !(error instanceof PosternError)) throw error;
      }
    });
  };

  #make(): void {
    const { view, namespace, clock } = this.#parts;
    // If the watch has ended, keep the last table until there is a new one.
    if (!view.isReady(this.#scope)) return;
    this.#current = tableOf(view, namespace);
    const today = dayOf(clock.date());
    if (this.#facts.see(view, today) || today !== this.#savedOn) this.#saveSoon();
    this.#take();
  }

  #take(): void {
    const { domain } = this.#facts;
    if (domain === this.#domain && this.#current === this.#told) return;
    this.#domain = domain;
    this.#told = this.#current;
    for (const changed of this.#listeners) changed();
  }

  #saveSoon(): void {
    if (!this.#parts.store || !this.#learns || this.#tasks.signal.aborted) return;
    this.#savedOn = dayOf(this.#parts.clock.date());
    this.#saving ??= this.#parts.clock.after(savedAfter, () => {
      this.#saving = undefined;
      this.#tasks.spawn(() => this.#save());
    });
  }

  async #save(): Promise<void> {
    const { api, clock, log, store } = this.#parts;
    try {
      await store?.write(this.#facts.text(dayOf(clock.date())));
    } catch (error) {
      if (!(error instanceof PosternError)) throw error;
      const reason = describe(error);
      // Log a reason once, not at every change of the cluster.
      if (reason !== this.#unsaved) log.warn("kubernetes.facts_unsaved", { cluster: api.name, reason });
      this.#unsaved = reason;
    }
  }
}

/** In ms; `surveyedEvery` is the number of these intervals between surveys. */
const askedEvery = 5 * 60_000;
const surveyedEvery = 12;
/** Timeout of a survey, in ms. */
const surveyLimit = 10_000;
/** Delay before new facts are stored, in ms. */
const savedAfter = 1_000;

/** Builds the table for rules from all objects in memory. */
export function tableOf(view: Pick<ClusterView, "services" | "endpoints">, usual: string): FarTable {
  const services = new Set<string>();
  const addresses = new Set<string>();
  for (const { namespace, name, clusterIps } of view.services()) {
    services.add(`${name}.${namespace}`);
    if (namespace === usual) services.add(name);
    for (const ip of clusterIps) addAddress(addresses, ip);
    for (const { addressType, endpoints } of view.endpoints(namespace, name)) {
      if (addressType === "FQDN") continue;
      for (const { addresses: [ip], pod } of endpoints) {
        if (ip !== undefined && pod !== undefined) addAddress(addresses, ip);
      }
    }
  }
  return { services, addresses };
}

/** Adds an address in canonical form, unless no cluster may own it. */
function addAddress(addresses: Set<string>, ip: string): void {
  const bytes = parseIp(ip);
  if (bytes && isOwnable(bytes)) addresses.add(formatIp(unmapped(bytes)));
}

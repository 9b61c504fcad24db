import { isMapping } from "../../config/mod.ts";
import {
  cut,
  type FarDomain,
  type FarNetwork,
  isOwnable,
  isSameBytes,
  jsonIn,
  networkIn,
} from "../../core/mod.ts";
import { formatIp, type IpBytes, parseIp, unmapped } from "../../words/mod.ts";
import type { ClusterView } from "../api/cluster_view.ts";
import type { Survey } from "./cluster_survey.ts";
import { isTopLevelDomain } from "./top_level_domain.ts";

/** Increment when a program would misread older files. */
const version = 1;
/** How many days a namespace, a Service and the whole file stay valid, and how many a pod's address does. */
const daysOfNames = 30;
const daysOfPods = 7;
/** Maximum number of names and addresses of each kind. */
const mostNames = 50_000;
/** Prefix lengths: API servers accept Service networks with up to 20 host bits; estimates use at least 12. */
const widest = { 4: 12, 16: 108 } as const;
const narrowest = { 4: 20, 16: 112 } as const;

/** Names or addresses with the day on which they were last seen, in days since 1970. */
type Seen = Map<string, number>;

/** The facts that postern has learned about a cluster from its watches and from the stored file. */
export class LearnedFacts {
  readonly #usual: string;
  readonly #configured: readonly FarNetwork[];
  readonly #namespaces: Seen = new Map();
  readonly #services: Seen = new Map();
  readonly #pods: Seen = new Map();
  readonly #clusterIps: Seen = new Map();
  #serviceNetworks: readonly string[] = [];
  #podNetworks: readonly string[] = [];
  #first: readonly string[] = [];
  #nodes: ReadonlySet<string> = new Set();
  #uid: string | undefined;
  #domain: FarDomain | undefined;
  #isKnown = false;

  /** `usual` is the namespace of names without one; `podNetworks` come from the configuration. */
  constructor({ usual, podNetworks }: { readonly usual: string; readonly podNetworks: readonly string[] }) {
    this.#usual = usual;
    this.#configured = podNetworks.flatMap((text) => networkIn(text, "pods") ?? []);
  }

  /** Undefined until a fact is known. */
  get domain(): FarDomain | undefined {
    if (!this.#isKnown) return undefined;
    return this.#domain ??= this.#make();
  }

  /** Loads a stored file, unless it is too old or has a later version. */
  load(text: string, today: number): void {
    const stored = jsonIn(text);
    if (!isMapping(stored) || stored["version"] !== version) return;
    const saved = stored["saved"];
    if (typeof saved !== "number" || today - saved > daysOfNames) return;
    this.#isKnown = true;
    this.#domain = undefined;
    this.#uid = typeof stored["uid"] === "string" ? stored["uid"] : undefined;
    this.#serviceNetworks = texts(stored["serviceNetworks"]);
    this.#podNetworks = texts(stored["podNetworks"]);
    this.#first = texts(stored["kubernetes"]);
    load(this.#namespaces, stored["namespaces"], today - daysOfNames);
    load(this.#services, stored["services"], today - daysOfNames);
    load(this.#clusterIps, stored["clusterIps"], today - daysOfNames);
    load(this.#pods, stored["pods"], today - daysOfPods);
  }

  /** The text to store. */
  text(today: number): string {
    return JSON.stringify({
      version,
      saved: today,
      ...(this.#uid !== undefined && { uid: this.#uid }),
      serviceNetworks: this.#serviceNetworks,
      podNetworks: this.#podNetworks,
      kubernetes: this.#first,
      namespaces: Object.fromEntries(this.#namespaces),
      services: Object.fromEntries(this.#services),
      clusterIps: Object.fromEntries(this.#clusterIps),
      pods: Object.fromEntries(this.#pods),
    });
  }

  /** Applies a survey of the cluster. A changed uid means a different cluster and drops all former facts. */
  survey({ uid, namespaces, serviceNetworks, podNetworks, nodes }: Survey, today: number): void {
    if (uid !== undefined && this.#uid !== undefined && uid !== this.#uid) this.#forget();
    this.#isKnown = true;
    this.#domain = undefined;
    this.#uid = uid ?? this.#uid;
    this.#serviceNetworks = serviceNetworks ?? this.#serviceNetworks;
    this.#podNetworks = podNetworks ?? this.#podNetworks;
    this.#nodes = new Set(nodes ?? []);
    for (const name of namespaces ?? []) see(this.#namespaces, name, today);
    for (const node of this.#nodes) this.#pods.delete(node);
  }

  /** Records the current Services and pods; returns whether anything is new. */
  see(view: Pick<ClusterView, "services" | "endpoints">, today: number): boolean {
    const podsAt = new Map<string, string>();
    const shared = new Set<string>();
    let isNew = !this.#isKnown;
    for (const { namespace, name, clusterIps } of view.services()) {
      isNew = see(this.#namespaces, namespace, today) || isNew;
      isNew = see(this.#services, `${name}.${namespace}`, today) || isNew;
      if (namespace === this.#usual) isNew = see(this.#services, name, today) || isNew;
      const addresses = clusterIps.flatMap(canonical);
      for (const ip of addresses) isNew = see(this.#clusterIps, ip, today) || isNew;
      if (namespace === "default" && name === "kubernetes") this.#first = addresses;
      for (const { addressType, endpoints } of view.endpoints(namespace, name)) {
        if (addressType === "FQDN") continue;
        for (const { addresses: [ip], pod } of endpoints) {
          if (ip === undefined || pod === undefined) continue;
          const [address] = canonical(ip);
          if (address === undefined) continue;
          const key = `${namespace}/${pod}`;
          // Two pods share an address only on their node's network.
          if ((podsAt.get(address) ?? key) !== key) shared.add(address);
          podsAt.set(address, key);
        }
      }
    }
    for (const address of podsAt.keys()) {
      if (shared.has(address) || this.#nodes.has(address)) isNew = this.#pods.delete(address) || isNew;
      else isNew = see(this.#pods, address, today) || isNew;
    }
    if (isNew) this.#domain = undefined;
    this.#isKnown = true;
    return isNew;
  }

  #forget(): void {
    for (const seen of [this.#namespaces, this.#services, this.#pods, this.#clusterIps]) seen.clear();
    this.#serviceNetworks = this.#podNetworks = this.#first = [];
  }

  #make(): FarDomain {
    const told = this.#serviceNetworks.flatMap((text) => networkIn(text, "Services") ?? []);
    const services = told.length > 0 ? told : estimated(this.#first, this.#clusterIps.keys());
    const pods = this.#podNetworks.flatMap((text) => networkIn(text, "pods") ?? []);
    return {
      networks: [...services, ...pods, ...this.#configured],
      addresses: new Set([...this.#pods.keys(), ...this.#clusterIps.keys()]),
      // From the ClusterIPs of a few namespaces alone, the estimate may cover only a small part.
      knowsServiceNetwork: told.length > 0 || this.#first.length > 0,
      namespaces: new Set([...this.#namespaces.keys()].filter((name) => !isTopLevelDomain(name))),
      services: new Set(this.#services.keys()),
    };
  }
}

/** Days since 1970. */
export function dayOf(date: Date): number {
  return Math.floor(date.getTime() / 86_400_000);
}

/** Records a key; returns whether it is new. */
function see(seen: Seen, key: string, today: number): boolean {
  const isNew = !seen.has(key);
  if (isNew && seen.size >= mostNames) return false;
  seen.set(key, today);
  return isNew;
}

function load(seen: Seen, stored: unknown, oldest: number): void {
  if (!isMapping(stored)) return;
  for (const [key, day] of Object.entries(stored)) {
    if (typeof day === "number" && day >= oldest && seen.size < mostNames) seen.set(key, day);
  }
}

function texts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((text) => typeof text === "string").slice(0, mostNames) : [];
}

/** The canonical form, in a list; empty for an address that no cluster may own. */
function canonical(ip: string): readonly string[] {
  const bytes = parseIp(ip);
  return bytes && isOwnable(bytes) ? [formatIp(unmapped(bytes))] : [];
}

/**
 * Estimates the Service networks from known addresses, one per family. If the address of
 * the Service `kubernetes` is known, the network starts just below it: that Service gets the first address.
 */
export function estimated(first: readonly string[], seen: Iterable<string>): FarNetwork[] {
  const families = new Map<4 | 16, IpBytes[]>([[4, []], [16, []]]);
  for (const text of [...first, ...seen]) {
    const bytes = parseIp(text);
    if (bytes) families.get(bytes.length === 4 ? 4 : 16)?.push(bytes);
  }
  return [...families].flatMap(([length, addresses]) => {
    const [start, ...others] = addresses;
    if (!start) return [];
    let bits: number = narrowest[length];
    for (const other of others) {
      while (bits > widest[length] && !isSameBytes(cut(start, bits), cut(other, bits))) bits--;
    }
    return [{ bytes: cut(start, bits), bits, holds: "Services" as const }];
  });
}

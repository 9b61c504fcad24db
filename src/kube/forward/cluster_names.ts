import { contextLabels } from "../config/context_names.ts";
import { parseServiceName } from "../services/service_names.ts";
import { ServiceDns } from "../services/service_dns.ts";
import type { FarName, FarNames } from "../../core/mod.ts";
import { PosternError } from "../../words/mod.ts";
import type { ClusterLink } from "./cluster_link.ts";
import type { ClusterSet } from "./cluster_set.ts";

/** The host names in the clusters of a transport. */
export class ClusterNames implements FarNames {
  readonly #set: ClusterSet;
  /** Follows the context in host names; absent with only one context. */
  readonly #suffix: string | undefined;
  readonly #known = new WeakMap<ClusterLink, ServiceDns>();

  constructor(set: ClusterSet, suffix: string | undefined) {
    this.#set = set;
    this.#suffix = suffix;
  }

  async find(name: string, options: { readonly signal: AbortSignal }): Promise<FarName | undefined> {
    const found = this.#in(name);
    if (found) {
      // The client resolves a name before it dials, so a resolve may start a sign-in too.
      if (parseServiceName(found.host, found.link.names)) found.link.api.allowSignIn();
      return await this.#dnsOf(found.link).find(found.host, options);
    }
    // A context's name is a domain: it has only names below it.
    return this.#in(`x.${name}`) ? { addresses: [] } : undefined;
  }

  nameOf(address: string): string | undefined {
    for (const link of this.#set.links) {
      const name = this.#dnsOf(link).nameOf(address);
      if (name === undefined || this.#suffix === undefined) {
        if (name !== undefined) return name;
        continue;
      }
      const inside = name.replace(/\.svc\..*$/, ".svc");
      return `${inside}.${contextLabels(link.api.name)}.${this.#suffix.toLowerCase()}`;
    }
    return undefined;
  }

  /** The Services of the only cluster, or of the clusters in use. */
  async all(options: { readonly signal: AbortSignal }): Promise<readonly (readonly string[])[]> {
    const suffix = this.#suffix?.toLowerCase();
    const { single } = this.#set;
    const found = await Promise.all((single ? [single] : this.#set.links).map(async (link) => {
      const all = await this.#dnsOf(link).all(options);
      if (suffix === undefined) return all;
      const context = contextLabels(link.api.name);
      return all.map(([first = ""]) => [`${first.replace(/\.svc$/, "")}.${context}.${suffix}`]);
    }));
    return found.flat();
  }

  #in(name: string): ReturnType<ClusterSet["find"]> {
    try {
      return this.#set.find(name);
    } catch (error) {
      // The kubeconfig has no such context, so the name does not exist.
      if (error instanceof PosternError) return undefined;
      throw error;
    }
  }

  #dnsOf(link: ClusterLink): ServiceDns {
    let dns = this.#known.get(link);
    if (!dns) this.#known.set(link, dns = new ServiceDns(link.view, link.names));
    return dns;
  }
}

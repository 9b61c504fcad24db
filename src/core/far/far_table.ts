import type { IpBytes } from "../../words/mod.ts";

/** The current services of a transport's cluster, for rules that match them. */
export interface FarTable {
  /** `web` for services of the default namespace, `web.shop` for any. Lower case. */
  readonly services: ReadonlySet<string>;
  /** Addresses of services and their endpoints, in canonical form. */
  readonly addresses: ReadonlySet<string>;
}

/** The stable facts about what a cluster owns, learned now or up to 30 days ago. */
export interface FarDomain {
  /** Networks of its Services and pods. */
  readonly networks: readonly FarNetwork[];
  /** Addresses outside these networks, in canonical form. */
  readonly addresses: ReadonlySet<string>;
  /** False while the Service network is unknown: then any private address may belong to it. */
  readonly knowsServiceNetwork: boolean;
  /** Namespaces, except for public top-level domains. */
  readonly namespaces: ReadonlySet<string>;
  /** Services that exist or existed: `web` in the default namespace, `web.shop` in any. */
  readonly services: ReadonlySet<string>;
}

export interface FarNetwork {
  readonly bytes: IpBytes;
  readonly bits: number;
  readonly holds: "Services" | "pods";
}

/** Looks up the contents of a transport's cluster without dialing. */
export interface FarTables {
  /** The current services; undefined while unknown. The same object until something changes. */
  readonly current: FarTable | undefined;
  /** What the cluster owns; undefined while nothing was learned. The same object until something changes. */
  readonly domain: FarDomain | undefined;
  /**
   * The host of the cluster's API if it is reached directly; a target with this host is not in the cluster.
   */
  readonly server?: string | undefined;
  /** Whether `recall` has finished. */
  readonly isRecalled: boolean;
  /** Reads stored facts without a request to the cluster. Ignores unreadable ones. */
  recall(options: { readonly signal: AbortSignal }): Promise<void>;
  /**
   * Starts to follow the services and resolves when they are known; rejects with the reason of a failure.
   * With `learns`, also asks the cluster what it owns, which needs more permissions.
   */
  follow(options: { readonly signal: AbortSignal; readonly learns?: boolean }): Promise<void>;
  /** The sign-in program that runs now; `follow` waits for it. */
  readonly signingInWith?: string | undefined;
  /** Allows a failed sign-in to run again, because a client requests a target that only this cluster has. */
  allowSignIn?(): void;
  /** Calls `changed` whenever `current` or `domain` changes. */
  onChange(changed: () => void): Disposable;
}

import type { IpBytes } from "../../words/mod.ts";

/** What is on the far side of a transport right now, for rules that ask for it. */
export interface FarTable {
  /** `web` for those of the usual namespace, `web.shop` for any. Lower case. */
  readonly services: ReadonlySet<string>;
  /** Addresses of services and of what is behind them, in canonical form. */
  readonly addresses: ReadonlySet<string>;
}

/** What a cluster owns by what is stable, learned today or up to 30 days ago. */
export interface FarDomain {
  /** Networks of its Services and pods. */
  readonly networks: readonly FarNetwork[];
  /** Addresses seen outside these networks, in canonical form. */
  readonly addresses: ReadonlySet<string>;
  /** False while the network of its Services is unknown: then any private address may be one of them. */
  readonly knowsServiceNetwork: boolean;
  /** Namespaces, without those that are public top-level domains. */
  readonly namespaces: ReadonlySet<string>;
  /** Services that exist or existed: `web` of the usual namespace, `web.shop` of any. */
  readonly services: ReadonlySet<string>;
}

export interface FarNetwork {
  readonly bytes: IpBytes;
  readonly bits: number;
  readonly holds: "Services" | "pods";
}

/** A transport whose far side can be looked up without dialling. */
export interface FarTables {
  /** What is there now; undefined while that is not known. The same object until something has changed. */
  readonly current: FarTable | undefined;
  /** What the far side owns; undefined while nothing was learned of it. The same object until something has changed. */
  readonly domain: FarDomain | undefined;
  /** The host of the API that the far side is reached by, where a direct connection finds it: no target behind it. */
  readonly server?: string | undefined;
  /** Whether `recall` has done its work. */
  readonly isRecalled: boolean;
  /** Reads what was learned earlier, without asking the far side. What cannot be read counts as not learned. */
  recall(options: { readonly signal: AbortSignal }): Promise<void>;
  /**
   * Begins to follow what is there, and resolves when that is known; fails with the reason why it is not. With `learns`
   * the far side is also asked what it owns, which takes more rights than its table.
   */
  follow(options: { readonly signal: AbortSignal; readonly learns?: boolean }): Promise<void>;
  /** The program that a person signs in with right now: `follow` waits for it. */
  readonly signingInWith?: string | undefined;
  /** A client asks for something that only this far side has: a sign-in that failed may run again. */
  allowSignIn?(): void;
  /** Calls `changed` whenever `current` or `domain` is another one. */
  onChange(changed: () => void): Disposable;
}

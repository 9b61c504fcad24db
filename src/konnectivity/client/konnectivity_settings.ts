import type { Target } from "../../words/mod.ts";

/** The protocol of a Konnectivity server's frontend. */
export type KonnectivityMode = "grpc" | "http-connect";

/** The settings of a Konnectivity transport, as plain data. */
export interface KonnectivitySettings {
  readonly mode: KonnectivityMode;
  readonly server: { readonly target: Target } | { readonly path: string };
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  /** The expected name in the server's certificate (default: the server's host). */
  readonly serverName?: string;
  /** How to resolve names; without it the agent resolves them. */
  readonly names?: NamesSettings;
}

/** How to resolve names before the server gets a target, as plain data. */
export interface NamesSettings {
  /** The kubernetes transport of the cluster whose Services have these names. */
  readonly services?: string;
  readonly guestDNS: boolean;
  /** The place of the cluster's DNS server. */
  readonly guestDNSService: { readonly namespace: string; readonly name: string } | {
    readonly address: string;
  };
  /** Whether this machine resolves and dials a name after the guest's DNS failed. */
  readonly managementDNS: boolean;
  readonly cloudDirect: boolean;
  /** Where to resolve all other names. */
  readonly otherwise: "agent" | "local";
  readonly preferIPv4: boolean;
}

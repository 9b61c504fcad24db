import type { Target } from "../../words/mod.ts";

/** What a Konnectivity server's frontend speaks. */
export type KonnectivityMode = "grpc" | "http-connect";

/** The settings of a way through a Konnectivity server, as plain data. */
export interface KonnectivitySettings {
  readonly mode: KonnectivityMode;
  readonly server: { readonly target: Target } | { readonly path: string };
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  /** The name that the server's certificate is checked for, where it is not the server's own. */
  readonly serverName?: string;
  /** How names are resolved; absent leaves them to the agent. */
  readonly names?: NamesSettings;
}

/** How names are resolved before a server is asked for a target, as plain data. */
export interface NamesSettings {
  /** The kubernetes transport in whose cluster Services have their names. */
  readonly services?: string;
  readonly guestDNS: boolean;
  /** Where the cluster's own DNS is. */
  readonly guestDNSService: { readonly namespace: string; readonly name: string } | {
    readonly address: string;
  };
  /** Whether names that the guest's DNS cannot be asked for are resolved and dialled from this machine. */
  readonly managementDNS: boolean;
  readonly cloudDirect: boolean;
  /** Who resolves what is left. */
  readonly otherwise: "agent" | "local";
  readonly preferIPv4: boolean;
}

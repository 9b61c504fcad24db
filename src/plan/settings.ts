import type { CatalogueSettings } from "../catalogue/mod.ts";
import type { EmergencySettings } from "../emergency/mod.ts";
import {
  described,
  type Infer,
  isMapping,
  optional,
  parseListenAddress,
  record,
  type Schema,
} from "../config/mod.ts";
import {
  defaultLimits,
  listenerKinds,
  type ListenerLimits,
  type ListenSettings,
  listenSettings,
} from "../listeners/mod.ts";
import { dnsSection } from "../dns/mod.ts";
import { routeSettings } from "../routing/mod.ts";
import { sshSection } from "../ssh/mod.ts";
import { transportsSchema } from "../transports/mod.ts";

const parts = {
  listen: optional(described(listenSettings, "The addresses to listen on, with users and limits.")),
  transports: described(optional(transportsSchema(), {}), "The transports, by name."),
  ssh: optional(
    described(sshSection, "How postern connects to ssh hosts, in addition to the ssh configuration."),
  ),
  dns: optional(
    described(
      dnsSection,
      "The names that the DNS server answers, and their addresses; listen.dns sets the server's listen address.",
    ),
  ),
  ...routeSettings,
};

const withoutCatalogues = record(parts);

export type Settings = Infer<typeof withoutCatalogues> & {
  /** Absent when the file does not have the section. */
  readonly catalogues?: readonly CatalogueSettings[];
  readonly emergency?: EmergencySettings;
};

/** Returns the schema of the whole configuration; each room provides its part. */
export async function settingsSchema(): Promise<Schema<Settings>> {
  const { cataloguesSchema } = await import("../catalogue/mod.ts");
  const { emergencySchema } = await import("../emergency/mod.ts");
  return record({
    ...parts,
    catalogues: described(
      optional(cataloguesSchema()),
      "The sources of clusters and their jump hosts (default: all stored catalogues).",
    ),
    emergency: described(optional(emergencySchema()), "The source of the clusters' emergency credentials."),
  });
}

/**
 * Returns the schema for a raw configuration; loads the room of the clusters only if the configuration names
 * one.
 */
export async function settingsSchemaFor(value: unknown): Promise<Schema<Settings>> {
  const isPlain = !isMapping(value) || Object.keys(value).every((key) => Object.hasOwn(parts, key));
  return isPlain ? withoutCatalogues : await settingsSchema();
}

/** The timeouts and maximum numbers, including those that listeners do not need. */
export interface Limits extends ListenerLimits {
  /** Maximum number of UDP relays at once. */
  readonly associations: number;
  /** How long a UDP relay, or one of its targets, may be idle, in ms. */
  readonly udpIdle: number;
  /** The timeout for reaching a target, in ms. */
  readonly dial: number;
  /** How long live connections may continue when the instance stops, in ms. */
  readonly drain: number;
}

/** The limits, with defaults. */
export function limitsOf({ listen }: Settings): Limits {
  return listen?.limits ?? defaultLimits;
}

/** The listeners (default: a mixed listener on localhost:12000). */
export function listenOf({ listen = { allowOpen: false } }: Settings): ListenSettings {
  if (listenerKinds.some((kind) => listen[kind] !== undefined)) return listen;
  return { ...listen, mixed: [{ address: parseListenAddress("localhost:12000") }] };
}

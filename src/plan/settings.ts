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
  listen: optional(described(listenSettings, "Where the door listens, who may use it, and how much.")),
  transports: described(optional(transportsSchema(), {}), "The ways out, by name."),
  ssh: optional(
    described(sshSection, "How ssh hosts are reached, beside what the ssh configuration says of them."),
  ),
  dns: optional(
    described(
      dnsSection,
      "Which names the DNS helper answers, and with what addresses; listen.dns says where.",
    ),
  ),
  ...routeSettings,
};

const withoutCatalogues = record(parts);

/** What the configuration says. */
export type Settings = Infer<typeof withoutCatalogues> & {
  /** Absent where the file does not name the section. */
  readonly catalogues?: readonly CatalogueSettings[];
  readonly emergency?: EmergencySettings;
};

/** The whole configuration file; each part comes from the room that knows it. */
export async function settingsSchema(): Promise<Schema<Settings>> {
  const { cataloguesSchema } = await import("../catalogue/mod.ts");
  const { emergencySchema } = await import("../emergency/mod.ts");
  return record({
    ...parts,
    catalogues: described(
      optional(cataloguesSchema()),
      "Where clusters and the ways to them are learned from; what is stored counts unless told.",
    ),
    emergency: described(optional(emergencySchema()), "Where the emergency credentials of clusters are."),
  });
}

/** The schema for a configuration as it is written: loading the room of the clusters is for those who name one. */
export async function settingsSchemaFor(value: unknown): Promise<Schema<Settings>> {
  const isPlain = !isMapping(value) || Object.keys(value).every((key) => Object.hasOwn(parts, key));
  return isPlain ? withoutCatalogues : await settingsSchema();
}

/** How long and how many, with a place for what the listeners do not need to know. */
export interface Limits extends ListenerLimits {
  /** How long reaching a target may take, in ms. */
  readonly dial: number;
  /** How long live connections may go on when the door stops, in ms. */
  readonly drain: number;
}

/** The limits in force. */
export function limitsOf({ listen }: Settings): Limits {
  return listen?.limits ?? defaultLimits;
}

/** What to listen on: the mixed door on localhost:12000 when no door is named. */
export function listenOf({ listen = { allowOpen: false } }: Settings): ListenSettings {
  if (listenerKinds.some((kind) => listen[kind] !== undefined)) return listen;
  return { ...listen, mixed: [{ address: parseListenAddress("localhost:12000") }] };
}

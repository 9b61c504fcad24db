import { described, type Infer, optional, parseListenAddress, record, type Schema } from "../config/mod.ts";
import {
  defaultLimits,
  doorKinds,
  type ListenerLimits,
  type ListenSettings,
  listenSettings,
} from "../listeners/mod.ts";
import { routeSettings } from "../routing/mod.ts";
import { sshSection, transportsSchema } from "../transports/mod.ts";

const settings = record({
  listen: optional(described(listenSettings, "Where the door listens, who may use it, and how much.")),
  transports: described(optional(transportsSchema(), {}), "The ways out, by name."),
  ssh: optional(
    described(sshSection, "How ssh hosts are reached, beside what the ssh configuration says of them."),
  ),
  ...routeSettings,
});

/** What the configuration says. */
export type Settings = Infer<typeof settings>;

/** The whole configuration file; each part comes from the room that knows it. */
export const settingsSchema: Schema<Settings> = settings;

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
  if (doorKinds.some((kind) => listen[kind] !== undefined)) return listen;
  return { ...listen, mixed: [{ address: parseListenAddress("localhost:12000") }] };
}

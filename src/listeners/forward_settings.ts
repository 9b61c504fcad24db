import {
  type Context,
  described,
  either,
  file,
  isMapping,
  list,
  type ListenAddress,
  oneOrMore,
  optional,
  parseListenAddress,
  port,
  record,
  refine,
  type Schema,
  text,
  transformed,
  unixAddress,
} from "../config/mod.ts";
import { type Endpoint, formatEndpoint, parseTarget, PosternError } from "../words/mod.ts";
import type { ListenerSettings } from "./listen_settings.ts";

/** A listener with one fixed target. It reads no request, so it has no users. */
export interface ForwardSettings extends ListenerSettings {
  readonly auth?: never;
  /** A host and port for the rules, or the path of a socket of this user. */
  readonly target: Endpoint;
  /** The name that people see. */
  readonly name?: string;
  /** Its key or index in the configuration. */
  readonly place: string | number;
}

const name = text({ max: 100, pattern: /^[A-Za-z0-9_.@:/-]+$/, describe: "letters, digits and _ . @ : / -" });
const most = 1000;

const listenPlace: Schema<ListenAddress> = transformed(text(), (written, context) => {
  const path = socketPath(written, context);
  if (path === undefined) return parseListenAddress(written);
  return path === "" ? undefined : unixAddress(path);
});

const target: Schema<Endpoint> = transformed(text(), (written, context) => {
  const path = socketPath(written, context);
  if (path === undefined) return parseForwardTarget(written);
  return path === "" ? undefined : { path };
});

const entry = record({
  listen: described(
    either(listenPlace, transformed(port(), (number) => parseListenAddress(`${number}`))),
    "Listen address: a port for localhost, an address with a port, or unix:PATH.",
  ),
  target: described(target, "Target that the rules route, or unix:PATH for a private socket of your user."),
  name: optional(described(name, "Name of the forward in status, connections and the log.")),
  only: optional(
    described(oneOrMore(text()), "Patterns of allowed targets; the forward refuses all others."),
  ),
}, { describe: "a mapping with listen, target, name, only" });

const checkedEntry = refine(entry, ({ target, only }, context) => {
  if (only && "path" in target) context.at("only").report("must be absent: patterns do not match a socket");
});

const records = transformed(
  list(checkedEntry, { max: most }),
  (entries) =>
    entries.map(({ listen, ...more }, place): ForwardSettings => ({ address: listen, ...more, place })),
);

/** A mapping from listen addresses to targets. */
const pairs: Schema<readonly ForwardSettings[]> = {
  expects: "a mapping from listen addresses to targets",
  shapes: ["mapping"],
  parse(value, context) {
    if (!isMapping(value)) return undefined;
    const found = Object.entries(value).flatMap(([key, written]): ForwardSettings[] => {
      const place = context.at(key);
      const address = listenPlace.parse(key, place);
      const to = target.parse(written, place);
      return address === undefined || to === undefined ? [] : [{ address, target: to, place: key }];
    });
    return found.length === Object.keys(value).length ? found : undefined;
  },
  json: (definitions) => ({ type: "object", additionalProperties: target.json(definitions) }),
};

/** Forwards as a mapping from listen addresses to targets, or as a list of records. */
export const forwardSettings: Schema<readonly ForwardSettings[]> = either(records, pairs);

/** The target of a forward; throws `usage` for other text. */
export function parseForwardTarget(written: string): Endpoint {
  const target = parseTarget(written);
  if (target.port > 0) return target;
  throw new PosternError("usage", `Cannot connect to ${formatEndpoint(target)}: port 0 is not a target`, {
    hint: "use a port from 1 to 65535",
  });
}

/** The absolute path of `unix:PATH`; undefined for an address, empty after a reported problem. */
function socketPath(written: string, context: Context): string | undefined {
  // The word "unix" tells a compiled instance, before it reads the settings, that it needs a socket file.
  if (!written.startsWith("unix:")) return undefined;
  return file().parse(written.slice("unix:".length), context) ?? "";
}

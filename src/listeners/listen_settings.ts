import {
  type Context,
  described,
  duration,
  either,
  file,
  flag,
  type Infer,
  integer,
  list,
  type ListenAddress,
  listenAddress,
  oneOrMore,
  optional,
  record,
  refine,
  type Schema,
  text,
  transformed,
  unixAddress,
} from "../config/mod.ts";
import { forwardSettings } from "./forward_settings.ts";

const user = record({
  name: described(text({ max: 255 }), "User name of the client."),
  passwordFile: described(file(), "File with the password; a line break at its end is ignored."),
}, { describe: "a user with name and passwordFile" });

const auth = record({
  users: described(list(user, { max: 1000 }), "Users of the listener."),
}, { describe: "a mapping with users" });

/** The users of a listener. */
export type AuthSettings = Infer<typeof auth>;

export interface ListenerSettings {
  readonly address: ListenAddress;
  readonly auth?: AuthSettings;
  /** Patterns of allowed targets; all targets if undefined. */
  readonly only?: readonly string[];
}

/** The schema of a listener: an address, or an address with its own users and targets. */
function listener(address: Schema<ListenAddress>): Schema<ListenerSettings> {
  const plain = transformed(address, (address): ListenerSettings => ({ address }));
  const detailed = record({
    address: described(address, "Listen address."),
    auth: optional(described(auth, "Users of this listener; replaces listen.auth.")),
    only: optional(
      described(
        oneOrMore(text()),
        "Patterns of allowed targets; the listener refuses all others.",
      ),
    ),
  }, { describe: "a mapping with address, auth, only" });
  return either(plain, detailed);
}

/** A socket path, absolute or relative to the file. */
function unixPath(): Schema<ListenAddress> {
  return { ...transformed(file(), unixAddress), json: () => ({ type: "string", minLength: 1 }) };
}

/** A listener that reaches no target, so it needs no password off loopback. */
const admin = oneOrMore(transformed(listenAddress(), (address): ListenerSettings => ({ address })));

const limits = record({
  connections: optional(
    described(integer({ min: 1, max: 1_000_000 }), "Maximum number of clients at once; more are rejected."),
    4096,
  ),
  associations: optional(
    described(
      integer({ min: 1, max: 10_000 }),
      "Maximum number of SOCKS5 clients with a UDP relay at once; more are rejected.",
    ),
    256,
  ),
  udpIdle: optional(
    described(duration({ min: 1000 }), "How long a UDP relay, or one of its targets, may be idle."),
    300_000,
  ),
  handshake: optional(
    described(duration({ min: 100 }), "Timeout for a client to send its proxy request."),
    10_000,
  ),
  dial: optional(described(duration({ min: 100 }), "Timeout for connecting to a target."), 20_000),
  drain: optional(described(duration(), "Time limit for live connections when the instance stops."), 30_000),
  halfCloseLinger: optional(
    described(
      duration({ min: 100 }),
      "How long a target may still answer after the client closed its side, on a path without half-close.",
    ),
    30_000,
  ),
  head: optional(
    described(
      integer({ min: 8192, max: 16 * 1024 * 1024 }),
      "Maximum size of an HTTP head in bytes, in both directions; one line may take a quarter.",
    ),
    256 * 1024,
  ),
});

const listen = record({
  mixed: optional(
    described(
      oneOrMore(listener(listenAddress())),
      "SOCKS4, SOCKS4a, SOCKS5, HTTP proxy, PAC and pages on one port (default without other listeners: localhost:12000).",
    ),
  ),
  socks: optional(described(oneOrMore(listener(listenAddress())), "SOCKS4, SOCKS4a and SOCKS5 only.")),
  http: optional(described(oneOrMore(listener(listenAddress())), "HTTP proxy, PAC and pages only.")),
  unix: optional(
    described(
      oneOrMore(listener(unixPath())),
      "The protocols of mixed on a unix socket, for your user only (mode 0600).",
    ),
  ),
  forward: optional(
    described(
      forwardSettings,
      "Forwards: a mapping from listen addresses to targets, or a list. Any local user can connect to a TCP forward; a unix socket is for your user only (mode 0600).",
    ),
  ),
  dns: optional(
    described(
      admin,
      "A DNS server for the names of clusters and of dns.domains, over UDP and TCP; loopback only.",
    ),
  ),
  admin: optional(
    described(admin, "Only /healthz, /readyz and /metrics; on loopback only for a loopback Host."),
  ),
  allowOpen: optional(
    described(flag(), "Allow listeners off loopback without authentication."),
    false,
  ),
  udp: optional(
    described(
      flag(),
      "Relay UDP for SOCKS5 clients, to targets whose route is direct or a SOCKS5 proxy (default: false).",
    ),
  ),
  auth: optional(described(auth, "Users of all listeners (default: no authentication).")),
  limits: optional(described(limits, "Limits on connections and durations.")),
});

export type ListenSettings = Infer<typeof listen>;

/** The section `listen` of the configuration. */
export const listenSettings: Schema<ListenSettings> = refine(listen, checkListeners);

export const defaultLimits: Infer<typeof limits> = {
  connections: 4096,
  associations: 256,
  udpIdle: 300_000,
  handshake: 10_000,
  dial: 20_000,
  drain: 30_000,
  halfCloseLinger: 30_000,
  head: 256 * 1024,
};

/** The kinds of listener that accept proxy clients. */
export const listenerKinds = ["mixed", "socks", "http", "unix"] as const;
export type ListenerKind = typeof listenerKinds[number];

function checkListeners(settings: ListenSettings, context: Context): void {
  // Without any listener, the default one is mixed.
  const isDefault = listenerKinds.every((kind) => settings[kind] === undefined);
  if (settings.udp && !isDefault && !settings.mixed && !settings.socks) {
    context.at("udp").report("has no effect: only mixed and socks listeners relay UDP", "warning");
  }
  const taken = new Map<string, string>();
  for (const kind of [...listenerKinds, "forward", "dns", "admin"] as const) {
    for (const [index, { address, auth }] of (settings[kind] ?? []).entries()) {
      const place = kind === "forward"
        ? context.at(kind).at(settings.forward?.[index]?.place ?? index)
        : placeOf(context, kind, index, settings[kind]?.length ?? 0);
      for (const { endpoint } of address.sockets) {
        const text = "path" in endpoint ? endpoint.path : `${endpoint.host} ${endpoint.port}`;
        const other = taken.get(text);
        if (other !== undefined && !("port" in endpoint && endpoint.port === 0)) {
          place.report(`must be a free address: listen.${other} already uses ${address.text}`);
          break;
        }
        taken.set(text, kind);
      }
      if (kind === "dns") checkDns(address, place);
      if (kind === "forward") checkForward(address, settings.allowOpen, place);
      if (kind === "admin" || kind === "dns" || kind === "forward" || address.isLoopback) continue;
      const users = (auth ?? settings.auth)?.users.length ?? 0;
      if (users > 0) continue;
      if (settings.allowOpen) {
        place.report(
          `is open to the network: any client that reaches ${address.text} can use the proxy`,
          "warning",
        );
      } else {
        place.report(
          `must not be open to the network without authentication: ${address.text} is not a loopback address; ` +
            "set listen.auth, or listen.allowOpen: true (--allow-open)",
        );
      }
    }
  }
}

/** DNS has no authentication and its answers are private, so `allowOpen` does not apply. */
function checkDns({ sockets: [{ endpoint }], isLoopback, text }: ListenAddress, place: Context): void {
  if ("path" in endpoint) place.report(`must be an address with a port: DNS has no socket file ("${text}")`);
  else if (!isLoopback) {
    place.report(
      `must be a loopback address: ${text} would expose private names, and DNS has no passwords`,
    );
  }
}

/** A forward reads no request, so no password protects it: `auth` does not apply. */
function checkForward({ text, isLoopback }: ListenAddress, allowOpen: boolean, place: Context): void {
  if (isLoopback) return;
  if (allowOpen) {
    place.report(`is open to the network: any client that reaches ${text} can use its target`, "warning");
  } else {
    place.report(
      `must not be open to the network: ${text} is not a loopback address, and a forward has no password; ` +
        "use 127.0.0.1, or set listen.allowOpen: true (--allow-open)",
    );
  }
}

function placeOf(context: Context, kind: string, index: number, count: number): Context {
  const place = context.at(kind);
  return count > 1 ? place.at(index) : place;
}

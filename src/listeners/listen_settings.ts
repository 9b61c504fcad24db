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

const user = record({
  name: described(text({ max: 255 }), "The name that the client gives."),
  passwordFile: described(file(), "The file that holds the password; a line end at its end does not count."),
}, { describe: "a user with name and passwordFile" });

const auth = record({
  users: described(list(user, { max: 1000 }), "Who may use the door."),
}, { describe: "a mapping with users" });

/** Who may use a door. */
export type AuthSettings = Infer<typeof auth>;

/** One place to listen at. */
export interface ListenerSettings {
  readonly address: ListenAddress;
  readonly auth?: AuthSettings;
  /** Patterns of what may be reached through this listener; everything when absent. */
  readonly only?: readonly string[];
}

/** An address alone, or with its own users and limits on what may be reached. */
function listener(address: Schema<ListenAddress>): Schema<ListenerSettings> {
  const plain = transformed(address, (address): ListenerSettings => ({ address }));
  const detailed = record({
    address: described(address, "Where it listens."),
    auth: optional(described(auth, "Who may use this listener, instead of listen.auth.")),
    only: optional(
      described(
        oneOrMore(text()),
        "Patterns of what may be reached through this listener; the rest is refused.",
      ),
    ),
  }, { describe: "a mapping with address, auth, only" });
  return either(plain, detailed);
}

/** A path, absolute or relative to the file. */
function unixPath(): Schema<ListenAddress> {
  return { ...transformed(file(), unixAddress), json: () => ({ type: "string", minLength: 1 }) };
}

/** An endpoint that gives no way into anything, so it needs no password off loopback. */
const admin = oneOrMore(transformed(listenAddress(), (address): ListenerSettings => ({ address })));

const limits = record({
  connections: optional(
    described(integer({ min: 1, max: 1_000_000 }), "The most clients at once; more are turned away."),
    4096,
  ),
  handshake: optional(
    described(duration({ min: 100 }), "How long a client may take to say what it wants."),
    10_000,
  ),
  dial: optional(described(duration({ min: 100 }), "How long reaching a target may take."), 20_000),
  drain: optional(described(duration(), "How long live connections may go on when the door stops."), 30_000),
  halfCloseLinger: optional(
    described(
      duration({ min: 100 }),
      "How long a target may go on answering a client that has ended, where the way carries no half-close.",
    ),
    30_000,
  ),
});

const listen = record({
  mixed: optional(
    described(
      oneOrMore(listener(listenAddress())),
      "SOCKS4, SOCKS4a, SOCKS5, HTTP proxy, PAC and pages on one port; localhost:12000 when no door is named.",
    ),
  ),
  socks: optional(described(oneOrMore(listener(listenAddress())), "SOCKS4, SOCKS4a and SOCKS5 only.")),
  http: optional(described(oneOrMore(listener(listenAddress())), "HTTP proxy, PAC and pages only.")),
  unix: optional(
    described(
      oneOrMore(listener(unixPath())),
      "The mixed door on a unix socket, for your user only (mode 0600).",
    ),
  ),
  dns: optional(
    described(
      admin,
      "A DNS server for the names of clusters and of dns.domains, over UDP and TCP; loopback only.",
    ),
  ),
  admin: optional(described(admin, "/healthz, /readyz and /metrics only; on loopback for a loopback Host.")),
  allowOpen: optional(
    described(flag(), "Allows a door on other addresses than loopback without authentication."),
    false,
  ),
  auth: optional(described(auth, "Who may use the doors; everyone on this machine when absent.")),
  limits: optional(described(limits, "How many and how long.")),
});

/** What `listen` says. */
export type ListenSettings = Infer<typeof listen>;

/** The part `listen` of the configuration. */
export const listenSettings: Schema<ListenSettings> = refine(listen, checkListeners);

/** The limits when the configuration names none. */
export const defaultLimits: Infer<typeof limits> = {
  connections: 4096,
  handshake: 10_000,
  dial: 20_000,
  drain: 30_000,
  halfCloseLinger: 30_000,
};

/** The kinds of listener that let connections through. */
export const listenerKinds = ["mixed", "socks", "http", "unix"] as const;
export type ListenerKind = typeof listenerKinds[number];

function checkListeners(settings: ListenSettings, context: Context): void {
  const taken = new Map<string, string>();
  for (const kind of [...listenerKinds, "dns", "admin"] as const) {
    for (const [index, { address, auth }] of (settings[kind] ?? []).entries()) {
      const place = placeOf(context, kind, index, settings[kind]?.length ?? 0);
      for (const { endpoint } of address.sockets) {
        const text = "path" in endpoint ? endpoint.path : `${endpoint.host} ${endpoint.port}`;
        const other = taken.get(text);
        if (other !== undefined && !("port" in endpoint && endpoint.port === 0)) {
          place.report(`must not be an address that is taken: ${address.text} is listen.${other} already`);
          break;
        }
        taken.set(text, kind);
      }
      if (kind === "dns") checkDns(address, place);
      if (kind === "admin" || kind === "dns" || address.isLoopback) continue;
      const users = (auth ?? settings.auth)?.users.length ?? 0;
      if (users > 0) continue;
      if (settings.allowOpen) {
        place.report(`is an open door: everyone who reaches ${address.text} can use it`, "warning");
      } else {
        place.report(
          `must not be open to the network without authentication: ${address.text} is not a loopback address, ` +
            "set listen.auth, or listen.allowOpen: true (--allow-open)",
        );
      }
    }
  }
}

/** DNS asks nobody who they are, and what it tells is private: so no `allowOpen` opens it. */
function checkDns({ sockets: [{ endpoint }], isLoopback, text }: ListenAddress, place: Context): void {
  if ("path" in endpoint) place.report(`must be an address with a port: DNS has no socket file ("${text}")`);
  else if (!isLoopback) {
    place.report(
      `must be a loopback address: ${text} would tell others what is private, and DNS has no passwords`,
    );
  }
}

function placeOf(context: Context, kind: string, index: number, count: number): Context {
  const place = context.at(kind);
  return count > 1 ? place.at(index) : place;
}

import { type Endpoint, formatTarget, isLoopbackHost, PosternError } from "../../words/mod.ts";
import type { Listening, Process, World } from "../../world/mod.ts";
import { listenerKinds, type ListenerSettings, type ListenSettings } from "../../listeners/mod.ts";

/** Who starts the door when the first client comes, and the name that it has given the socket. */
export interface OnDemand {
  readonly by: "systemd" | "launchd";
  readonly name: string;
}

/** systemd hands sockets over from here on (sd_listen_fds(3)). */
const firstDescriptor = 3;
/** More than anybody hands over: what is larger is a mistake. */
const mostDescriptors = 64;

/** The sockets that whoever started us opened for us; none where nobody did. */
export async function takeHandedOver(world: World, onDemand: OnDemand | undefined): Promise<Listening[]> {
  const taken: Listening[] = [];
  try {
    for (const descriptor of handedOver(world.process, onDemand)) {
      taken.push(await world.network.inherit(descriptor));
    }
    return taken;
  } catch (error) {
    for (const listening of taken) listening.close();
    throw error;
  }
}

/** The descriptors of these sockets. Without `onDemand` all that systemd has meant for this very process. */
export function handedOver(
  { env, pid }: Pick<Process, "env" | "pid">,
  onDemand?: OnDemand,
): readonly number[] {
  // launchd knows how to be inetd: the socket is standard input.
  if (onDemand?.by === "launchd") return [0];
  const [written, owner] = [env("LISTEN_FDS"), env("LISTEN_PID")];
  const isOurs = written !== undefined && owner === `${pid}`;
  if (!isOurs) {
    if (!onDemand) return [];
    throw nothing(
      written === undefined || owner === undefined
        ? "systemd handed over no socket"
        : `the sockets were handed over to process ${owner.slice(0, 20)}, and this is ${pid}`,
    );
  }
  const count = /^[0-9]{1,3}$/.test(written) ? Number(written) : NaN;
  if (!(count <= mostDescriptors)) throw nothing(`LISTEN_FDS is "${written.slice(0, 20)}"`);
  const descriptors = Array.from({ length: count }, (_, at) => firstDescriptor + at);
  if (!onDemand) return descriptors;
  const names = env("LISTEN_FDNAMES")?.split(":") ?? [];
  const named = descriptors.filter((_, at) => names[at] === onDemand.name);
  if (named.length > 0) return named;
  const told = names.length === 0 ? "without names" : `named ${names.join(", ").slice(0, 200)}`;
  throw nothing(`systemd handed over no socket "${onDemand.name}", but ${count} ${told}`);
}

function nothing(why: string): PosternError {
  return new PosternError("config", `Cannot start on demand: ${why}`, {
    exit: 1,
    hint: "this is for a socket unit: postern service-install writes one; by hand, leave --on-demand out",
  });
}

/**
 * The listeners with sockets that were handed over in the place of the mixed door's. Such a socket serves the
 * listener that names its address; else it is the mixed door, with what the first one of these says of users.
 */
export function withHandedOver(settings: ListenSettings, endpoints: readonly Endpoint[]): ListenSettings {
  if (endpoints.length === 0) return settings;
  const places = new Set(endpoints.map(placeOf));
  const mixed = (settings.mixed ?? []).flatMap((listener): ListenerSettings[] => {
    const [first, ...more] = listener.address.sockets.filter(({ endpoint }) => places.has(placeOf(endpoint)));
    return first ? [{ ...listener, address: { ...listener.address, sockets: [first, ...more] } }] : [];
  });
  const named = new Set(
    [...mixed, ...[...listenerKinds, "admin"].filter(isOther).flatMap((kind) => settings[kind] ?? [])]
      .flatMap(({ address }) => address.sockets.map(({ endpoint }) => placeOf(endpoint))),
  );
  const others = endpoints.filter((endpoint) => !named.has(placeOf(endpoint)));
  const added = others.map((endpoint) => mixedAt(endpoint, settings));
  return { ...settings, mixed: [...mixed, ...added] };
}

function mixedAt(endpoint: Endpoint, settings: ListenSettings): ListenerSettings {
  const text = placeOf(endpoint);
  const isLoopback = "path" in endpoint || isLoopbackHost(endpoint.host);
  const listener = {
    ...settings.mixed?.[0],
    address: { text, sockets: [{ endpoint, mayBeMissing: false }], isLoopback },
  } satisfies ListenerSettings;
  const users = (listener.auth ?? settings.auth)?.users.length ?? 0;
  if (isLoopback || users > 0 || settings.allowOpen) return listener;
  throw new PosternError(
    "config",
    `Cannot use the socket that was handed over: ${text} is open to the network without authentication`,
    { hint: "set listen.auth, or listen.allowOpen: true" },
  );
}

function isOther(kind: string): kind is "socks" | "http" | "unix" | "admin" {
  return kind !== "mixed";
}

function placeOf(endpoint: Endpoint): string {
  return "path" in endpoint ? `unix:${endpoint.path}` : formatTarget(endpoint);
}

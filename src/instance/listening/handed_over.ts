import { type Endpoint, formatEndpoint, isLoopbackHost, PosternError } from "../../words/mod.ts";
import type { Listening, Process, World } from "../../world/mod.ts";
import { listenerKinds, type ListenerSettings, type ListenSettings } from "../../listeners/mod.ts";

/** The service manager that starts the instance for the first client, and its name for the socket. */
export interface OnDemand {
  readonly by: "systemd" | "launchd";
  readonly name: string;
}

/** The first descriptor that systemd passes (sd_listen_fds(3)). */
const firstDescriptor = 3;
/** No service passes this many sockets; a larger number is a mistake. */
const mostDescriptors = 64;

/** Takes the sockets that the service manager passed; empty if it passed none. */
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

/** The descriptors of the sockets. Without `onDemand`, all sockets that systemd passed to this process. */
export function handedOver(
  { env, pid }: Pick<Process, "env" | "pid">,
  onDemand?: OnDemand,
): readonly number[] {
  // launchd works like inetd: the socket is standard input.
  if (onDemand?.by === "launchd") return [0];
  const [written, owner] = [env("LISTEN_FDS"), env("LISTEN_PID")];
  const isOurs = written !== undefined && owner === `${pid}`;
  if (!isOurs) {
    if (!onDemand) return [];
    throw nothing(
      written === undefined || owner === undefined
        ? "systemd passed no socket"
        : `systemd passed the sockets to process ${owner.slice(0, 20)}, not to this process (${pid})`,
    );
  }
  const count = /^[0-9]{1,3}$/.test(written) ? Number(written) : NaN;
  if (!(count <= mostDescriptors)) {
    throw nothing(`LISTEN_FDS is not a count of sockets: "${written.slice(0, 20)}"`);
  }
  const descriptors = Array.from({ length: count }, (_, at) => firstDescriptor + at);
  if (!onDemand) return descriptors;
  const names = env("LISTEN_FDNAMES")?.split(":") ?? [];
  const named = descriptors.filter((_, at) => names[at] === onDemand.name);
  if (named.length > 0) return named;
  const told = names.length === 0 ? "without names" : `named ${names.join(", ").slice(0, 200)}`;
  throw nothing(`systemd passed no socket "${onDemand.name}", only ${count} ${told}`);
}

function nothing(why: string): PosternError {
  return new PosternError("config", `Cannot start on demand: ${why}`, {
    exit: 1,
    hint: "omit --on-demand, or install a socket unit: postern service-install",
  });
}

/**
 * Replaces the mixed listeners with the passed sockets. A socket whose address a listener names serves that
 * listener. Every other socket becomes a mixed listener with the users of the first mixed one.
 */
export function withHandedOver(settings: ListenSettings, endpoints: readonly Endpoint[]): ListenSettings {
  if (endpoints.length === 0) return settings;
  const places = new Set(endpoints.map(formatEndpoint));
  const mixed = (settings.mixed ?? []).flatMap((listener): ListenerSettings[] => {
    const [first, ...more] = listener.address.sockets.filter(({ endpoint }) =>
      places.has(formatEndpoint(endpoint))
    );
    return first ? [{ ...listener, address: { ...listener.address, sockets: [first, ...more] } }] : [];
  });
  const named = new Set(
    [
      ...mixed,
      ...[...listenerKinds, "forward", "admin"].filter(isOther).flatMap((kind) => settings[kind] ?? []),
    ]
      .flatMap(({ address }) => address.sockets.map(({ endpoint }) => formatEndpoint(endpoint))),
  );
  const others = endpoints.filter((endpoint) => !named.has(formatEndpoint(endpoint)));
  const added = others.map((endpoint) => mixedAt(endpoint, settings));
  return { ...settings, mixed: [...mixed, ...added] };
}

function mixedAt(endpoint: Endpoint, settings: ListenSettings): ListenerSettings {
  const text = formatEndpoint(endpoint);
  const isLoopback = "path" in endpoint || isLoopbackHost(endpoint.host);
  const listener = {
    ...settings.mixed?.[0],
    address: { text, sockets: [{ endpoint, mayBeMissing: false }], isLoopback },
  } satisfies ListenerSettings;
  const users = (listener.auth ?? settings.auth)?.users.length ?? 0;
  if (isLoopback || users > 0 || settings.allowOpen) return listener;
  throw new PosternError(
    "config",
    `Cannot use the socket of the service manager: ${text} is open to the network without authentication`,
    { hint: "set listen.auth, or listen.allowOpen: true" },
  );
}

function isOther(kind: string): kind is "socks" | "http" | "unix" | "forward" | "admin" {
  return kind !== "mixed";
}

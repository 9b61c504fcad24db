import { type Conn, jsonIn } from "../core/mod.ts";
import { formatTarget, isPosternError, PosternError, type Target } from "../words/mod.ts";
import type { World } from "../world/mod.ts";
import { ControlClient } from "../control/mod.ts";
import { listenOf, readConfig } from "../plan/mod.ts";

const idForm = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,39}$/;

/** The name of an instance, or a `usage` error. */
export function checkedId(id: string): string {
  if (idForm.test(id)) return id;
  throw new PosternError("usage", `Cannot use "${id.slice(0, 100)}" as the id of an instance`, {
    hint: "take up to 40 letters, digits, dots, dashes and underscores",
  });
}

/** A directory with the control sockets and locks of instances. */
export interface ControlPlace {
  readonly directory: string;
  /** Whether only an earlier postern makes it: another user may have made it first. */
  readonly isFormer: boolean;
}

/** Where instances of this user may be: where ours are, then where those of an earlier postern are. */
export function controlPlaces({ places: { runtime, formerRuntime } }: Pick<World, "places">): ControlPlace[] {
  const former = formerRuntime === undefined ? [] : [{ directory: formerRuntime, isFormer: true }];
  return [{ directory: runtime, isFormer: false }, ...former];
}

/** The ids that have a lock in a place. A place that is not ours alone fails with `untrusted`. */
export async function idsIn({ files }: World, { directory }: ControlPlace): Promise<string[]> {
  if (!await files.owned(directory, "directory")) return [];
  const ids = (await files.list(directory)).flatMap((name) => /^(.+)\.lock$/.exec(name)?.[1] ?? []);
  return ids.filter((id) => idForm.test(id)).sort();
}

export function socketPath({ directory }: ControlPlace, id: string): string {
  return `${directory}/${id}.sock`;
}

/** Where the control port is told on Windows, which has no owner or mode to look at: the file is in the user's profile. */
export function addressPath({ directory }: ControlPlace, id: string): string {
  return `${directory}/${id}.control.json`;
}

export function lockPath({ directory }: ControlPlace, id: string): string {
  return `${directory}/${id}.lock`;
}

/** What the file of a control port says. */
export interface ControlAddress {
  readonly port: number;
  readonly token: string;
}

/**
 * The client of a control socket; undefined where there is none. Nothing is connected to unless its directory and the
 * socket itself are ours alone.
 */
export async function controlClient(
  world: World,
  place: ControlPlace,
  id: string,
): Promise<ControlClient | undefined> {
  const { network, files, process, clock } = world;
  const options = { clock, id, isOwn: (address: Target) => isConfigured(world, address) };
  if (process.platform !== "windows") {
    const path = socketPath(place, id);
    if (!await files.owned(place.directory, "directory") || !await files.owned(path, "socket")) {
      return undefined;
    }
    return new ControlClient((signal): Promise<Conn> => network.connect({ path }, { signal }), options);
  }
  const text = await files.readTextIfThere(addressPath(place, id), { limit: 1000 });
  if (text === undefined) return undefined;
  const { port, token } = (jsonIn(text) ?? {}) as Partial<ControlAddress>;
  if (typeof token !== "string" || !Number.isInteger(port) || port === undefined) return undefined;
  return new ControlClient((signal) => network.connect({ host: "127.0.0.1", port }, { signal }), {
    ...options,
    token,
  });
}

/** Whether the configuration that we read ourselves listens there. One that cannot be read names nothing. */
async function isConfigured(world: World, address: Target): Promise<boolean> {
  try {
    const { loaded } = await readConfig(world, { withoutCatalogues: true });
    if (!loaded) return false;
    const { mixed = [], socks = [], http = [] } = listenOf(loaded.settings);
    return [...mixed, ...socks, ...http].some(({ address: { sockets } }) =>
      sockets.some(({ endpoint }) => "port" in endpoint && formatTarget(endpoint) === formatTarget(address))
    );
  } catch (error) {
    if (isPosternError(error, "config") || isPosternError(error, "not_allowed")) return false;
    throw error;
  }
}

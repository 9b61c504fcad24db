import { type Conn, jsonIn } from "../core/mod.ts";
import { PosternError } from "../words/mod.ts";
import type { World } from "../world/mod.ts";
import { ControlClient } from "./control_client.ts";
import type { IsOwn } from "./control_proxies.ts";

const idForm = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,39}$/;

/** Returns a valid instance id; otherwise throws `usage`. */
export function checkedId(id: string): string {
  if (idForm.test(id)) return id;
  throw new PosternError("usage", `Cannot use "${id.slice(0, 100)}" as the id of an instance`, {
    hint: "use up to 40 letters, digits, dots, dashes and underscores",
  });
}

/** A directory with the control sockets and locks of instances. */
export interface ControlPlace {
  readonly directory: string;
  /** Whether only an older postern uses it: another user may have created it. */
  readonly isFormer: boolean;
}

/** The directories with instances of this user: the current one, then the one of an older postern. */
export function controlPlaces({ places: { runtime, formerRuntime } }: Pick<World, "places">): ControlPlace[] {
  const former = formerRuntime === undefined ? [] : [{ directory: formerRuntime, isFormer: true }];
  return [{ directory: runtime, isFormer: false }, ...former];
}

/** The ids with a lock in a place. Throws `untrusted` if another user can write to the place. */
export async function idsIn({ files }: World, { directory }: ControlPlace): Promise<string[]> {
  if (!await files.owned(directory, "directory")) return [];
  const ids = (await files.list(directory)).flatMap((name) => /^(.+)\.lock$/.exec(name)?.[1] ?? []);
  return ids.filter((id) => idForm.test(id)).sort();
}

export function socketPath({ directory }: ControlPlace, id: string): string {
  return `${directory}/${id}.sock`;
}

/** The file with the control port on Windows. It needs no owner check: it is in the user's profile. */
export function addressPath({ directory }: ControlPlace, id: string): string {
  return `${directory}/${id}.control.json`;
}

export function lockPath({ directory }: ControlPlace, id: string): string {
  return `${directory}/${id}.lock`;
}

/** The content of the control port file. */
export interface ControlAddress {
  readonly port: number;
  readonly token: string;
}

/**
 * A client for the control socket of an instance; undefined if there is no socket. Throws unless only this
 * user can write to the directory and the socket.
 */
export async function controlClient(
  world: World,
  place: ControlPlace,
  { id, isOwn }: { readonly id: string; readonly isOwn?: IsOwn },
): Promise<ControlClient | undefined> {
  const { network, files, process, clock } = world;
  const options = { clock, id, ...(isOwn && { isOwn }) };
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

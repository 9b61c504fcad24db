import { checkSocketPath, type Listening, type World } from "../world/mod.ts";
import { hexText, within } from "../core/mod.ts";
import { isPosternError, PosternError } from "../words/mod.ts";
import {
  addressPath,
  checkedId,
  type ControlAddress,
  type ControlClient,
  controlClient,
  type ControlPlace,
  controlPlaces,
  controlProtocol,
  type Hello,
  idsIn,
  lockPath,
  socketPath,
} from "../control/mod.ts";
import { isConfigured } from "./configured_listener.ts";

export { checkedId };

export interface InstanceInfo extends Hello {
  /** The path of its control socket. */
  readonly control: string;
}

/** The log of a background instance; the instance keeps it when it stops. */
export function logFile(world: World, id: string): string {
  return `${world.places.state}/logs/${checkedId(id)}.log`;
}

/**
 * The lock of a running instance on its id. If another process can take the lock, the holder is dead and its
 * files can be removed.
 */
export class InstanceLock implements AsyncDisposable {
  readonly id: string;
  readonly #world: World;
  readonly #place: ControlPlace;
  readonly #lock: Disposable;
  #listening: Listening | undefined;
  #leftovers: string[] = [];

  private constructor(world: World, id: string, { place, lock }: { place: ControlPlace; lock: Disposable }) {
    this.#world = world;
    this.id = id;
    this.#place = place;
    this.#lock = lock;
  }

  /** Takes the id; throws if another instance holds it. */
  static async take(world: World, id: string): Promise<InstanceLock> {
    checkedId(id);
    const place = { directory: world.places.runtime, isFormer: false };
    // Checked before any file is created.
    const { platform } = world.process;
    if (platform !== "windows") checkSocketPath(socketPath(place, id), platform);
    await world.files.privateDirectory(place.directory);
    const lock = await isHeldByFormer(world, id)
      ? undefined
      : await world.files.lock(lockPath(place, id), { removes: true });
    if (!lock) {
      throw new PosternError("config", `Cannot start instance "${id}": it is already running`, {
        exit: 1,
        hint: `show it: postern status --id ${id}; or start another instance: postern proxy --id NAME`,
      });
    }
    try {
      if (platform !== "windows") await demandUnanswered(world, socketPath(place, id));
      await world.files.remove(socketPath(place, id));
      await world.files.remove(addressPath(place, id));
    } catch (error) {
      lock[Symbol.dispose]();
      throw error;
    }
    return new InstanceLock(world, id, { place, lock });
  }

  /** Binds the control socket. On Windows: a loopback port, whose token is in a private file. */
  async listen(): Promise<{ listening: Listening; token?: string }> {
    const { network, files, process } = this.#world;
    if (process.platform !== "windows") {
      const path = socketPath(this.#place, this.id);
      this.#listening = network.listen({ path });
      this.#leftovers.push(path);
      return { listening: this.#listening };
    }
    this.#listening = network.listen({ host: "127.0.0.1", port: 0 });
    const { endpoint } = this.#listening;
    const address: ControlAddress = { port: "port" in endpoint ? endpoint.port : 0, token: randomToken() };
    const path = addressPath(this.#place, this.id);
    this.#leftovers.push(path);
    await files.replace(path, JSON.stringify(address));
    return { listening: this.#listening, token: address.token };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    using _lock = this.#lock;
    this.#listening?.close();
    for (const path of this.#leftovers) await this.#world.files.remove(path);
  }
}

/** Whether an instance of an older postern holds the id. Ignores a place that another user can write to. */
async function isHeldByFormer(world: World, id: string): Promise<boolean> {
  for (const place of controlPlaces(world).filter(({ isFormer }) => isFormer)) {
    try {
      if (!(await idsIn(world, place)).includes(id)) continue;
      using lock = await world.files.lock(lockPath(place, id), { removes: true });
      if (!lock) return true;
    } catch (error) {
      // When run from source, a background instance may not write there.
      if (!isNotForUs(place, error)) throw error;
    }
  }
  return false;
}

/** Time limit for connecting to a socket in ms. */
const connectsWithin = 5000;

/** The id is free, but another instance may have `listen.unix` at this path. */
async function demandUnanswered({ network, clock }: World, path: string): Promise<void> {
  const { signal } = new AbortController();
  const error = () => new PosternError("timeout", `Cannot reach ${path}: no answer`);
  try {
    await using _conn = await within(
      { clock, ms: connectsWithin, signal, error },
      (signal) => network.connect({ path }, { signal }),
    );
  } catch (error) {
    if (isPosternError(error, "timeout")) throw error;
    return;
  }
  throw new PosternError("config", `Cannot start the instance: another instance listens on ${path}`, {
    exit: 1,
    hint: "use another --id, or change listen.unix of the other instance",
  });
}

/** A token that cannot be guessed. */
export function randomToken(): string {
  return hexText(crypto.getRandomValues(new Uint8Array(24)));
}

export interface ConnectOptions {
  readonly signal: AbortSignal;
  /** For calls that every version understands. */
  readonly ofAnyVersion?: boolean;
}

/** A client for a running instance. Throws `refused` with exit code 3 if the instance is not running. */
export async function connectInstance(
  world: World,
  id: string,
  { signal, ofAnyVersion = false }: ConnectOptions,
): Promise<ControlClient> {
  checkedId(id);
  let cause: unknown;
  for (const place of controlPlaces(world)) {
    try {
      const client = await controlClient(world, place, {
        id,
        isOwn: (address) => isConfigured(world, address),
      });
      const hello = await client?.hello({ signal });
      if (!client || !hello) continue;
      if (hello.protocol > controlProtocol && !ofAnyVersion) throw newerInstance({ ...hello, id });
      return client;
    } catch (error) {
      // Another user may have created the directory of an older postern; that must not block our instances.
      const isRefused = isPosternError(error, "refused");
      if (signal.aborted || !(isRefused || isNotForUs(place, error))) throw error;
      if (isRefused || isUntrusted(error)) cause = error;
    }
  }
  throw noInstance(id, cause);
}

export interface InstancesOptions {
  readonly signal: AbortSignal;
  /** Called for an instance that does not answer or is untrusted; without it, that is an error. */
  readonly unanswered?: (id: string, error: unknown) => void;
  /** Called with the reason why a place of an older postern was skipped. */
  readonly ignored?: (error: PosternError) => void;
}

/** The running instances of this user, by id. Removes the files of dead ones. */
export async function instances(world: World, options: InstancesOptions): Promise<InstanceInfo[]> {
  const found: InstanceInfo[] = [];
  for (const place of controlPlaces(world)) {
    for (const id of await idsToAsk(world, place, options)) {
      const info = await answering(world, { place, id }, options);
      if (info && !found.some((other) => other.id === id)) found.push(info);
    }
  }
  return found.sort((a, b) => a.id < b.id ? -1 : 1);
}

async function idsToAsk(
  world: World,
  place: ControlPlace,
  { ignored }: InstancesOptions,
): Promise<readonly string[]> {
  try {
    return await idsIn(world, place);
  } catch (error) {
    if (!isNotForUs(place, error)) throw error;
    if (isUntrusted(error)) ignored?.(error);
    return [];
  }
}

/** The instance with this id; undefined if it is dead, stopping or silent. */
async function answering(
  world: World,
  { place, id }: { readonly place: ControlPlace; readonly id: string },
  { signal, unanswered }: InstancesOptions,
): Promise<InstanceInfo | undefined> {
  try {
    const client = await controlClient(world, place, {
      id,
      isOwn: (address) => isConfigured(world, address),
    });
    // The id comes from the socket: file names never depend on the answer of an instance.
    if (client) return { ...await client.hello({ signal }), id, control: controlText(world, place, id) };
    return undefined;
  } catch (error) {
    if (signal.aborted) throw error;
    return await unheard(world, { place, id, error, unanswered });
  }
}

async function unheard(
  world: World,
  { place, id, error, unanswered }: {
    readonly place: ControlPlace;
    readonly id: string;
    readonly error: unknown;
    readonly unanswered: InstancesOptions["unanswered"];
  },
): Promise<undefined> {
  // An instance that closes its control socket is stopping; one that hangs must not hide the others.
  if (isPosternError(error, "unreachable") && error.detail === "reset") return;
  try {
    if (isPosternError(error, "refused")) return await sweep(world, place, id);
    throw error;
  } catch (failure) {
    if (!unanswered) throw failure;
    unanswered(id, failure);
  }
}

async function sweep(world: World, place: ControlPlace, id: string): Promise<undefined> {
  using lock = await world.files.lock(lockPath(place, id), { removes: true });
  if (!lock) return;
  await world.files.remove(socketPath(place, id));
  await world.files.remove(addressPath(place, id));
}

/** Whether a place of an older postern is untrusted or outside the permissions of this process. */
function isNotForUs({ isFormer }: ControlPlace, error: unknown): boolean {
  return isFormer && (isUntrusted(error) || isPosternError(error, "not_allowed"));
}

/** Whether a file or directory was rejected because another user could have changed it. */
export function isUntrusted(error: unknown): error is PosternError {
  return error instanceof PosternError && error.detail === "untrusted";
}

/** This postern could misread the answers of a newer one. */
function newerInstance({ id, version }: Hello): PosternError {
  return new PosternError("protocol", `Cannot query instance "${id}": it runs a newer postern (${version})`, {
    hint: `use that version of postern, or stop the instance: postern stop --id ${id}`,
  });
}

function noInstance(id: string, cause?: unknown): PosternError {
  const hint = isUntrusted(cause) ? cause.hint : undefined;
  return new PosternError("refused", `Cannot query instance "${id}": it is not running`, {
    cause,
    exit: 3,
    detail: "no_instance",
    hint: hint ?? (id === "default" ? "start it: postern proxy" : "list running instances: postern status"),
  });
}

function controlText({ process }: World, place: ControlPlace, id: string): string {
  return process.platform === "windows" ? addressPath(place, id) : socketPath(place, id);
}

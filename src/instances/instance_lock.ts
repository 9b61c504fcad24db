import { checkSocketPath, type Listening, type World } from "../world/mod.ts";
import { hexText, within } from "../core/mod.ts";
import { isPosternError, PosternError } from "../words/mod.ts";
import type { ControlClient, Hello } from "../control/mod.ts";
import { controlProtocol } from "../listeners/mod.ts";
import {
  addressPath,
  checkedId,
  type ControlAddress,
  controlClient,
  type ControlPlace,
  controlPlaces,
  idsIn,
  lockPath,
  socketPath,
} from "./control_places.ts";

export { checkedId };

/** A door that runs now. */
export interface InstanceInfo extends Hello {
  /** Where it answers the command line. */
  readonly control: string;
}

/** The log of a door in the background; it is kept after its end. */
export function logFile(world: World, id: string): string {
  return `${world.places.state}/logs/${checkedId(id)}.log`;
}

/**
 * A running door's place among others: it holds the lock of its id, so whoever can take that lock knows that
 * the former holder is dead, and what it left is removed.
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

  /** Takes the id, or fails with what holds it. */
  static async take(world: World, id: string): Promise<InstanceLock> {
    checkedId(id);
    const place = { directory: world.places.runtime, isFormer: false };
    // Told before anything is made or bound.
    const { platform } = world.process;
    if (platform !== "windows") checkSocketPath(socketPath(place, id), platform);
    await world.files.privateDirectory(place.directory);
    const lock = await isHeldByFormer(world, id)
      ? undefined
      : await world.files.lock(lockPath(place, id), { removes: true });
    if (!lock) {
      throw new PosternError("config", `Cannot start: an instance "${id}" is running already`, {
        exit: 1,
        hint: `see it with: postern status --id ${id}; start another one with: --id NAME`,
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

  /** Binds the control socket: a unix socket in the private directory, on Windows loopback with a token in a private file. */
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

/** Whether an instance of an earlier postern has the id, as far as that can be told: its place may not be ours. */
async function isHeldByFormer(world: World, id: string): Promise<boolean> {
  for (const place of controlPlaces(world).filter(({ isFormer }) => isFormer)) {
    try {
      if (!(await idsIn(world, place)).includes(id)) continue;
      using lock = await world.files.lock(lockPath(place, id), { removes: true });
      if (!lock) return true;
    } catch (error) {
      // From source a background instance has no right to write there.
      if (!isNotForUs(place, error)) throw error;
    }
  }
  return false;
}

/** How long a process that has a socket may take to let us connect, in ms. */
const connectsWithin = 5000;

/** No instance has the id, but another one may have `listen.unix` at this very path. */
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
  throw new PosternError("config", `Cannot start: another instance listens on ${path}`, {
    exit: 1,
    hint: "give this one another --id, or that one another path in listen.unix",
  });
}

/** A token that nobody guesses. */
export function randomToken(): string {
  return hexText(crypto.getRandomValues(new Uint8Array(24)));
}

export interface ConnectOptions {
  readonly signal: AbortSignal;
  /** For what every version understands, whatever else it answers. */
  readonly ofAnyVersion?: boolean;
}

/** The client of a running instance; a `refused` error with exit code 3 when none runs under this id. */
export async function connectInstance(
  world: World,
  id: string,
  { signal, ofAnyVersion = false }: ConnectOptions,
): Promise<ControlClient> {
  checkedId(id);
  let cause: unknown;
  for (const place of controlPlaces(world)) {
    try {
      const client = await controlClient(world, place, id);
      const hello = await client?.hello({ signal });
      if (!client || !hello) continue;
      if (hello.protocol > controlProtocol && !ofAnyVersion) throw newerInstance({ ...hello, id });
      return client;
    } catch (error) {
      // Another user can put anything where an earlier postern looked: that must not keep ours from being used.
      const isRefused = isPosternError(error, "refused");
      if (signal.aborted || !(isRefused || isNotForUs(place, error))) throw error;
      if (isRefused || isUntrusted(error)) cause = error;
    }
  }
  throw noInstance(id, cause);
}

export interface InstancesOptions {
  readonly signal: AbortSignal;
  /** Told of an instance that is there and does not answer, or is not to be trusted; without it that is a failure. */
  readonly unanswered?: (id: string, error: unknown) => void;
  /** Told why a place of an earlier postern was not looked at. */
  readonly ignored?: (error: PosternError) => void;
}

/** All instances of this user that run now, by id. What dead ones left behind is removed on the way. */
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

/** What answers under an id; undefined where that is dead, ending or silent. */
async function answering(
  world: World,
  { place, id }: { readonly place: ControlPlace; readonly id: string },
  { signal, unanswered }: InstancesOptions,
): Promise<InstanceInfo | undefined> {
  try {
    const client = await controlClient(world, place, id);
    // The id is that of the socket: what the instance says of itself leads to no file.
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
  // An instance that is just closing its control socket is none that runs; one that hangs must not hide the others.
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

/** Whether a place of an earlier postern is not ours alone, or this process was not given the right to look there. */
function isNotForUs({ isFormer }: ControlPlace, error: unknown): boolean {
  return isFormer && (isUntrusted(error) || isPosternError(error, "not_allowed"));
}

/** Whether something was not used because it is not ours alone. */
export function isUntrusted(error: unknown): error is PosternError {
  return error instanceof PosternError && error.detail === "untrusted";
}

/** What it answers could be misread. */
function newerInstance({ id, version }: Hello): PosternError {
  return new PosternError("protocol", `Cannot ask the door "${id}": it is of a newer postern (${version})`, {
    hint: `ask it by that postern, or end it: postern stop --id ${id}`,
  });
}

function noInstance(id: string, cause?: unknown): PosternError {
  const hint = isUntrusted(cause) ? cause.hint : undefined;
  return new PosternError("refused", `Cannot ask the instance "${id}": none runs`, {
    cause,
    exit: 3,
    detail: "no_instance",
    hint: hint ?? (id === "default" ? "start one with: postern proxy" : "see what runs: postern status"),
  });
}

function controlText({ process }: World, place: ControlPlace, id: string): string {
  return process.platform === "windows" ? addressPath(place, id) : socketPath(place, id);
}

import {
  checkSocketPath,
  type Conn,
  hexText,
  isPosternError,
  type Listening,
  PosternError,
  type World,
} from "../core/mod.ts";
import { ControlClient, controlProtocol, type Hello } from "../listeners/mod.ts";

/** A door that runs now. */
export interface InstanceInfo extends Hello {
  /** Where it answers the command line. */
  readonly control: string;
}

interface ControlAddress {
  readonly port: number;
  readonly token: string;
}

const idForm = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,39}$/;

/** The name of an instance, or a `usage` error. */
export function checkedId(id: string): string {
  if (idForm.test(id)) return id;
  throw new PosternError("usage", `Cannot use "${id.slice(0, 100)}" as the id of an instance`, {
    hint: "take up to 40 letters, digits, dots, dashes and underscores",
  });
}

/** The log of a door in the background; it is kept after its end. */
export function logFile(world: World, id: string): string {
  return `${world.places.state}/logs/${checkedId(id)}.log`;
}

/**
 * A running door's place among others: it holds the lock of its id, so whoever can take that lock knows that
 * the former holder is dead, and what it left is removed.
 */
export class Instance implements AsyncDisposable {
  readonly id: string;
  readonly #world: World;
  readonly #lock: Disposable;
  #listening: Listening | undefined;
  #leftovers: string[] = [];

  private constructor(world: World, id: string, lock: Disposable) {
    this.#world = world;
    this.id = id;
    this.#lock = lock;
  }

  /** Takes the id, or fails with what holds it. */
  static async take(world: World, id: string): Promise<Instance> {
    const { runtime } = world.places;
    checkedId(id);
    // Told before anything is made or bound.
    const { platform } = world.process;
    if (platform !== "windows") checkSocketPath(socketPath(world, id), platform);
    await world.files.privateDirectory(runtime);
    const lock = await world.files.lock(`${runtime}/${id}.lock`, { removes: true });
    if (!lock) {
      throw new PosternError("config", `Cannot start: an instance "${id}" is running already`, {
        exit: 1,
        hint: `see it with: postern status --id ${id}; start another one with: --id NAME`,
      });
    }
    try {
      if (platform !== "windows") await demandUnanswered(world, socketPath(world, id));
      await world.files.remove(socketPath(world, id));
      await world.files.remove(addressPath(world, id));
    } catch (error) {
      lock[Symbol.dispose]();
      throw error;
    }
    return new Instance(world, id, lock);
  }

  /** Binds the control socket: a unix socket in the private directory, on Windows loopback with a token in a private file. */
  async listen(): Promise<{ listening: Listening; token?: string }> {
    const { network, files, process } = this.#world;
    if (process.platform !== "windows") {
      const path = socketPath(this.#world, this.id);
      this.#listening = network.listen({ path });
      this.#leftovers.push(path);
      return { listening: this.#listening };
    }
    this.#listening = network.listen({ host: "127.0.0.1", port: 0 });
    const { endpoint } = this.#listening;
    const address: ControlAddress = { port: "port" in endpoint ? endpoint.port : 0, token: randomToken() };
    const path = addressPath(this.#world, this.id);
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

/** Nobody has the id, but another door may have `listen.unix` at this very path. */
async function demandUnanswered({ network }: World, path: string): Promise<void> {
  try {
    await using _conn = await network.connect({ path }, { signal: new AbortController().signal });
  } catch {
    return;
  }
  throw new PosternError("config", `Cannot start: another door listens on ${path}`, {
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
  const client = await controlClient(world, id);
  let hello: Hello | undefined;
  try {
    hello = await client?.hello({ signal });
  } catch (error) {
    if (signal.aborted || !isPosternError(error, "refused")) throw error;
    throw noInstance(id, error);
  }
  if (!client || !hello) throw noInstance(id);
  if (hello.protocol > controlProtocol && !ofAnyVersion) throw newerInstance(hello);
  return client;
}

export interface InstancesOptions {
  readonly signal: AbortSignal;
  /** Told of a door that is there and does not answer; without it that is a failure. */
  readonly unanswered?: (id: string, error: unknown) => void;
}

/** All doors of this user that run now, by id. What dead ones left behind is removed on the way. */
export async function instances(
  world: World,
  { signal, unanswered }: InstancesOptions,
): Promise<InstanceInfo[]> {
  const { runtime } = world.places;
  const found: InstanceInfo[] = [];
  const names = await world.files.info(runtime) ? await world.files.list(runtime) : [];
  for (const name of [...names].sort()) {
    const id = /^(.+)\.lock$/.exec(name)?.[1];
    if (id === undefined || !idForm.test(id)) continue;
    try {
      const client = await controlClient(world, id);
      if (client) found.push({ ...await client.hello({ signal }), control: controlText(world, id) });
    } catch (error) {
      if (signal.aborted) throw error;
      if (isPosternError(error, "refused")) await sweep(world, id);
      // A door that is just closing its control socket is none that runs; one that hangs must not hide the others.
      else if (!isPosternError(error, "unreachable") || error.detail !== "reset") {
        if (!unanswered) throw error;
        unanswered(id, error);
      }
    }
  }
  return found;
}

async function sweep(world: World, id: string): Promise<void> {
  using lock = await world.files.lock(`${world.places.runtime}/${id}.lock`, { removes: true });
  if (!lock) return;
  await world.files.remove(socketPath(world, id));
  await world.files.remove(addressPath(world, id));
}

async function controlClient(world: World, id: string): Promise<ControlClient | undefined> {
  const { network, files, process, clock } = world;
  if (process.platform !== "windows") {
    const path = socketPath(world, id);
    if (!await files.info(path)) return undefined;
    return new ControlClient((signal): Promise<Conn> => network.connect({ path }, { signal }), { clock, id });
  }
  const text = await files.readTextIfThere(addressPath(world, id));
  if (text === undefined) return undefined;
  const { port, token } = JSON.parse(text) as ControlAddress;
  return new ControlClient((signal) => network.connect({ host: "127.0.0.1", port }, { signal }), {
    clock,
    id,
    token,
  });
}

/** What it answers could be misread. */
function newerInstance({ id, version }: Hello): PosternError {
  return new PosternError("protocol", `Cannot ask the door "${id}": it is of a newer postern (${version})`, {
    hint: `ask it by that postern, or end it: postern stop --id ${id}`,
  });
}

function noInstance(id: string, cause?: unknown): PosternError {
  return new PosternError("refused", `Cannot ask the instance "${id}": none runs`, {
    cause,
    exit: 3,
    detail: "no_instance",
    hint: id === "default" ? "start one with: postern proxy" : "see what runs: postern status",
  });
}

function socketPath(world: World, id: string): string {
  return `${world.places.runtime}/${id}.sock`;
}

function addressPath(world: World, id: string): string {
  return `${world.places.runtime}/${id}.control.json`;
}

function controlText(world: World, id: string): string {
  return world.process.platform === "windows" ? addressPath(world, id) : socketPath(world, id);
}

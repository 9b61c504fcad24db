import { text } from "../config/mod.ts";
import {
  type Conn,
  describe,
  type Dialer,
  type DialOptions,
  isPosternError,
  type Network,
  parseIp,
  PosternError,
  type Target,
  type Transport,
  type TransportStatus,
} from "../core/mod.ts";
import { defineTransport, type TransportDeps, type TransportKind } from "./define_transport.ts";
import { demandUsable, resolveChain } from "./ssh/ssh_chain.ts";
import type { SshHopStatus } from "./ssh/ssh_hop.ts";
import type { SshHost } from "./ssh/ssh_host.ts";
import type { HeldChain } from "./ssh/ssh_pool.ts";
import type { SshServices } from "./ssh/ssh_services.ts";

/** Connects from an ssh host, through whatever jump hosts the ssh configuration puts before it. */
export class Ssh implements Transport {
  readonly name: string;
  readonly #alias: string;
  readonly #network: Network;
  readonly #dialer: Dialer;
  readonly #services: SshServices;
  #chain: Promise<HeldChain> | undefined;
  #held: HeldChain | undefined;
  #failure: PosternError | undefined;
  #isDisposed = false;

  constructor(
    alias: string,
    { name, network, dialer, services }: {
      readonly name: string;
      readonly network: Network;
      readonly dialer: Dialer;
      readonly services: SshServices;
    },
  ) {
    this.name = name;
    this.#alias = alias;
    this.#network = network;
    this.#dialer = dialer;
    this.#services = services;
  }

  async dial(target: Target, options: DialOptions): Promise<Conn> {
    options.signal.throwIfAborted();
    const { hops } = this.#held ?? await this.#holding();
    const last = hops.at(-1);
    if (!last) throw new PosternError("internal", `Cannot use ssh ${this.#alias}: it has no host`);
    return await last.dial(target, options);
  }

  /** Reads the configuration of every host on the way, without connecting; fails where the chain cannot be used. */
  async prepare(): Promise<void> {
    await this.#holding();
  }

  /** Signs in to every host on the way. */
  async connect(options: DialOptions): Promise<void> {
    const { hops } = await this.#holding();
    await hops.at(-1)?.ready(options);
  }

  /** Reads the configuration again when next needed; connections that stand are served to their end. */
  forget(): void {
    this.#held?.release();
    this.#held = this.#chain = this.#failure = undefined;
  }

  /** Asks every server on the way whether it is there. */
  check(): void {
    for (const hop of this.#held?.hops ?? []) hop.check();
  }

  status(): TransportStatus & { readonly hops: readonly SshHopStatus[] } {
    if (this.#failure) return { state: "unusable", lastError: describe(this.#failure), hops: [] };
    const hops = this.#held?.hops.map((hop) => hop.status()) ?? [];
    const lastError = hops.find(({ state }) => state === "failing")?.lastError ?? hops.at(-1)?.lastError;
    const state = (["failing", "connecting", "ready"] as const)
      .find((state) => hops.some((hop) => hop.state === state)) ?? "idle";
    return { state, ...(lastError !== undefined && { lastError }), hops };
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true;
    this.forget();
    return Promise.resolve();
  }

  #holding(): Promise<HeldChain> {
    if (this.#isDisposed) {
      return Promise.reject(new PosternError("cancelled", `The transport "${this.name}" was closed`));
    }
    return this.#chain ??= this.#hold();
  }

  async #hold(): Promise<HeldChain> {
    try {
      const chain = await resolveChain(this.#alias, this.#services.read);
      demandUsable(chain);
      const held = this.#services.pool.hold(chain, this.#reachOf(this.#dialer));
      if (this.#isDisposed) held.release();
      return this.#held = held;
    } catch (error) {
      // What the configuration says stays said until it is read again; anything else may be better next time.
      if (isPosternError(error, "config")) this.#failure = error;
      else this.#chain = undefined;
      throw error;
    }
  }

  /** The same function for the same dialer: chains share their first host only if they reach it in the same way. */
  #reachOf(dialer: Dialer): (host: SshHost, options: DialOptions) => Promise<Conn> {
    const known = reaches.get(dialer);
    if (known) return known;
    const reach = (host: SshHost, options: DialOptions) =>
      reachHost(host, { dialer, network: this.#network, services: this.#services, options });
    reaches.set(dialer, reach);
    return reach;
  }
}

const reaches = new WeakMap<Dialer, (host: SshHost, options: DialOptions) => Promise<Conn>>();

async function reachHost(
  host: SshHost,
  { dialer, network, services, options }: {
    readonly dialer: Dialer;
    readonly network: Network;
    readonly services: SshServices;
    readonly options: DialOptions;
  },
): Promise<Conn> {
  const { hostName, port, proxyCommand, addressFamily } = host;
  if (proxyCommand !== undefined) {
    if (services.runCommand) return await services.runCommand(proxyCommand, options);
    throw new PosternError("config", `Cannot use ssh ${host.alias}: its ProxyCommand cannot be run here`, {
      hint: "use engine: openssh for this host",
    });
  }
  if (addressFamily === "any" || parseIp(hostName)) return await dialer({ host: hostName, port }, options);
  const addresses = await network.lookup(hostName, options);
  const wanted = addresses.filter((address) => address.includes(":") === (addressFamily === "inet6"));
  let failure: unknown = new PosternError(
    "name_not_found",
    `Cannot reach ${hostName}: it has no address of the AddressFamily ${addressFamily}`,
  );
  for (const address of wanted) {
    try {
      return await dialer({ host: address, port }, options);
    } catch (error) {
      options.signal.throwIfAborted();
      failure = error;
    }
  }
  throw failure;
}

/** `ssh: HOST`: a Host of the person's ssh configuration. */
export function defineSsh(services: (deps: TransportDeps) => SshServices): TransportKind<string> {
  return defineTransport({
    type: "ssh",
    settings: text({ max: 255, describe: "a Host of the ssh configuration" }),
    create: (alias, deps) => new Ssh(alias, { ...deps, services: services(deps) }),
  });
}

import { asPosternError, describe, isPosternError, PosternError } from "../../words/mod.ts";
import {
  type DialOptions,
  transportClosed,
  type TransportNote,
  type TransportStatus,
  unlessAborted,
} from "../../core/mod.ts";
import type { Dialer, Network } from "../../world/mod.ts";
import type { SshHost } from "../config/ssh_host.ts";
import { sshNotes } from "../sign_in/ssh_notes.ts";
import type { SshServices } from "../ssh_services.ts";
import { reachingThrough, type ReachSshHost } from "./reach_ssh_host.ts";
import { demandUsable, resolveChain } from "./ssh_chain.ts";
import type { SshHopStatus } from "./ssh_hop.ts";
import type { HeldChain, SshStation } from "./ssh_pool.ts";

export interface SshPathDeps {
  /** The name of the transport whose path it is. */
  readonly name: string;
  readonly network: Pick<Network, "connect" | "lookup">;
  readonly dialer: Dialer;
  /** The transport through which the first host is reached; absent is straight. */
  readonly via?: string | undefined;
  readonly services: SshServices;
}

/** The hosts on the path to an ssh host: as the ssh configuration has them now, with the sessions that they share. */
export class SshPath implements AsyncDisposable {
  readonly name: string;
  readonly #alias: string;
  readonly #reach: ReachSshHost;
  readonly #via: string | undefined;
  readonly #services: SshServices;
  /** The chain as it was last read, while that is read, and why it cannot be used. */
  #held: HeldChain | undefined;
  #reading: Promise<HeldChain> | undefined;
  /** How often it was read: what began to read before the last one is out of date. */
  #readings = 0;
  #failure: PosternError | undefined;
  #isDisposed = false;

  constructor(alias: string, { name, network, dialer, via, services }: SshPathDeps) {
    this.name = name;
    this.#alias = alias;
    this.#reach = reachingThrough(dialer, { network, services, isStraight: via === undefined });
    this.#via = via;
    this.#services = services;
  }

  /** Reads anew what is configured for every host on the way; sessions of hosts that are the same are kept. */
  async prepare(): Promise<readonly TransportNote[]> {
    this.#failure = undefined;
    const reading = this.#reading = this.#hold();
    const number = this.#readings;
    try {
      const { hops } = await reading;
      return sshNotes(hops.map(({ host }) => host));
    } catch (error) {
      if (number === this.#readings) this.#keep(undefined);
      const notes = sshNotes(await resolveChain(this.#alias, this.#services.read).catch(() => []));
      if (notes.some(({ severity }) => severity === "blocking")) return notes;
      const { message, hint } = asPosternError(error);
      return [{ severity: "blocking", text: message, ...(hint !== undefined && { hint }) }, ...notes];
    }
  }

  /** Asks every server on the way whether it is there. */
  check(): void {
    for (const hop of this.#held?.hops ?? []) hop.check();
  }

  status(): TransportStatus & { readonly hops: readonly SshHopStatus[] } {
    if (this.#failure) {
      const { hint } = this.#failure;
      const lastError = describe(this.#failure);
      return { state: "unusable", lastError, ...(hint !== undefined && { hint }), hops: [] };
    }
    const hops = this.#held?.hops.map((hop) => hop.status()) ?? [];
    const { lastError, hint } = hops.find(({ state }) => state === "failing") ?? hops.at(-1) ?? {};
    const state = (["failing", "connecting", "ready"] as const)
      .find((state) => hops.some((hop) => hop.state === state)) ?? "idle";
    return {
      state,
      ...(lastError !== undefined && { lastError }),
      ...(hint !== undefined && { hint }),
      detail: wayText(this.#alias, hops),
      hops,
    };
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true;
    this.#keep(undefined);
    this.#reading = undefined;
    return Promise.resolve();
  }

  /** The hosts that were read last. */
  protected get hops(): readonly SshStation[] {
    return this.#held?.hops ?? [];
  }

  /** The last host, from which targets are dialled. */
  protected async last({ signal }: DialOptions): Promise<SshStation> {
    signal.throwIfAborted();
    const { hops } = this.#held ?? await unlessAborted(this.#reading ??= this.#hold(), signal);
    const last = hops.at(-1);
    if (last) return last;
    throw new PosternError("internal", `Cannot use ssh ${this.#alias}: it has no host`);
  }

  async #hold(): Promise<HeldChain> {
    const { pool, read, section: times } = this.#services;
    if (this.#isDisposed) throw transportClosed(this.name);
    const number = ++this.#readings;
    const isNewest = () => number === this.#readings;
    try {
      const chain = await resolveChain(this.#alias, read);
      // Whoever waits for this may have what was read after it.
      if (!isNewest() && this.#reading) return await this.#reading;
      demandUsable(chain);
      if (this.#via !== undefined) demandWayThrough(this.#via, chain[0]);
      const held = pool.hold(chain, { reach: this.#reach, times });
      if (this.#isDisposed) held.release();
      else this.#keep(held);
      return held;
    } catch (error) {
      // Not what was read is wrong then: a reload ends a reading that is under way.
      if (!isNewest() && this.#reading) return await this.#reading;
      if (!isNewest()) throw error;
      // What the configuration says stays said until it is read again; anything else may be better next time.
      if (isPosternError(error, "config")) this.#failure = error;
      else this.#reading = undefined;
      throw error;
    }
  }

  /** Lets go of the chain that was held before: of the hosts that are in both, the sessions are kept. */
  #keep(held: HeldChain | undefined): void {
    const former = this.#held;
    this.#held = held;
    former?.release();
  }
}

/** Fails where the first host is reached by a program, which goes its own way. */
function demandWayThrough(via: string, first: SshHost | undefined): void {
  const { alias, engine, proxyCommand } = first ?? {};
  if (engine !== "openssh" && proxyCommand === undefined) return;
  const whose = engine === "openssh" ? "with engine: openssh it" : "its ProxyCommand";
  throw new PosternError("config", `Cannot use ssh ${alias}: ${whose} cannot go via the transport "${via}"`, {
    hint: engine === "openssh"
      ? "use the built-in engine for this host, or write the way into the ssh configuration as ProxyJump"
      : "leave out via, or ProxyCommand",
  });
}

/** `jump1 > jump2`; the address where it is another name. */
function wayText(alias: string, hops: readonly SshHopStatus[]): string {
  if (hops.length === 0) return alias;
  return hops.map(({ host, address }) => address.startsWith(`${host}:`) ? host : `${host} at ${address}`)
    .join(" > ");
}

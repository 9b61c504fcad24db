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
import { demandUsableChain, resolveChain } from "./ssh_chain.ts";
import type { SshHopStatus } from "./ssh_hop.ts";
import type { HeldChain, SshStation } from "./ssh_pool.ts";

export interface SshPathDeps {
  /** The name of the transport with this path. */
  readonly name: string;
  readonly network: Pick<Network, "connect" | "lookup">;
  readonly dialer: Dialer;
  /** The transport that reaches the first host; absent for a direct connection. */
  readonly via?: string | undefined;
  readonly services: SshServices;
}

/** The hosts on the path to an ssh host, from the current ssh configuration, with their shared sessions. */
export class SshPath implements AsyncDisposable {
  readonly name: string;
  readonly #alias: string;
  readonly #reach: ReachSshHost;
  readonly #via: string | undefined;
  readonly #services: SshServices;
  /** The chain from the last reading, the reading in progress, and the error of an unusable chain. */
  #held: HeldChain | undefined;
  #reading: Promise<HeldChain> | undefined;
  /** The number of readings; a reading that began before the last one is outdated. */
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

  /** Reads the configuration of every host on the path again; keeps the sessions of unchanged hosts. */
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

  /** Sends a keepalive to every server on the path. */
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
      detail: pathText(this.#alias, hops),
      hops,
    };
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true;
    this.#keep(undefined);
    this.#reading = undefined;
    return Promise.resolve();
  }

  /** The hosts from the last reading. */
  protected get hops(): readonly SshStation[] {
    return this.#held?.hops ?? [];
  }

  /** Returns the last host, which dials the targets. */
  protected async last({ signal }: DialOptions): Promise<SshStation> {
    signal.throwIfAborted();
    const { hops } = this.#held ?? await unlessAborted(this.#reading ??= this.#hold(), signal);
    const last = hops.at(-1);
    if (last) return last;
    throw new PosternError("internal", `Cannot use ssh ${this.#alias}: the chain is empty`);
  }

  async #hold(): Promise<HeldChain> {
    const { pool, read, section: times } = this.#services;
    if (this.#isDisposed) throw transportClosed(this.name);
    const number = ++this.#readings;
    const isNewest = () => number === this.#readings;
    try {
      const chain = await resolveChain(this.#alias, read);
      // A newer reading has started: its result is fine for this caller too.
      if (!isNewest() && this.#reading) return await this.#reading;
      demandUsableChain(chain);
      if (this.#via !== undefined) demandNoProgram(this.#via, chain[0]);
      const held = pool.hold(chain, { reach: this.#reach, times });
      if (this.#isDisposed) held.release();
      else this.#keep(held);
      return held;
    } catch (error) {
      // A reload aborts a reading in progress, so this error says nothing about the configuration.
      if (!isNewest() && this.#reading) return await this.#reading;
      if (!isNewest()) throw error;
      // A configuration error stays until the next reading; a retry may fix any other error.
      if (isPosternError(error, "config")) this.#failure = error;
      else this.#reading = undefined;
      throw error;
    }
  }

  /** Replaces the held chain; hosts in both chains keep their sessions. */
  #keep(held: HeldChain | undefined): void {
    const former = this.#held;
    this.#held = held;
    former?.release();
  }
}

/** Throws when a program makes the connection to the first host: it cannot use another transport. */
function demandNoProgram(via: string, first: SshHost | undefined): void {
  const { alias, engine, proxyCommand } = first ?? {};
  if (engine !== "openssh" && proxyCommand === undefined) return;
  const whose = engine === "openssh" ? "with engine: openssh it" : "its ProxyCommand";
  throw new PosternError("config", `Cannot use ssh ${alias}: ${whose} cannot go via the transport "${via}"`, {
    hint: engine === "openssh"
      ? "use the built-in engine for this host, or configure the jump host as ProxyJump in the ssh configuration"
      : "remove via or ProxyCommand",
  });
}

/** `jump1 > jump2`, with the address when it differs from the name. */
function pathText(alias: string, hops: readonly SshHopStatus[]): string {
  if (hops.length === 0) return alias;
  return hops.map(({ host, address }) => address.startsWith(`${host}:`) ? host : `${host} at ${address}`)
    .join(" > ");
}

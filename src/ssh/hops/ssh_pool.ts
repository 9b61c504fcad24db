import type { Conn, DialOptions } from "../../core/mod.ts";
import type { Target } from "../../words/mod.ts";
import { connectSsh, type SshHopDeps } from "../session/connect_ssh.ts";
import { SshHop, type SshHopStatus } from "./ssh_hop.ts";
import type { SshHost } from "../config/ssh_host.ts";
import type { SshSection } from "../config/ssh_section.ts";

/** How long to keep an unused hop, in ms, so that a reload can reuse its session. */
const lingering = 30_000;

/** Timeouts in milliseconds. */
export type SshTimes = Pick<SshSection, "keepalive" | "deadAfter" | "connectTimeout">;

export interface SshPoolDeps extends Omit<SshHopDeps, keyof SshTimes> {
  /** Creates the station of a host that uses the user's ssh program. */
  readonly openSsh: (host: SshHost, times: SshTimes) => SshStation;
}

/** The start of a chain. */
export interface SshChainStart {
  /**
   * Connects to the first host. Chains with different functions share no hop, even if their hosts are equal.
   */
  readonly reach: (host: SshHost, options: DialOptions) => Promise<Conn>;
  readonly times: SshTimes;
}

/** One host of a chain, with either engine. */
export interface SshStation extends AsyncDisposable {
  readonly host: SshHost;
  /** The number of connections through this host. */
  readonly channels: number;
  dial(target: Target, options: DialOptions): Promise<Conn>;
  ready(options: DialOptions): Promise<void>;
  check(): void;
  status(): SshHopStatus;
}

/** A chain in use: its hops stay until `release`. */
export interface HeldChain {
  readonly hops: readonly SshStation[];
  /** Releases the chain; unused hops stay until their last connection ends. */
  release(): void;
}

/** The ssh hosts of all transports. Chains that reach a host the same way share its session. */
export class SshPool implements AsyncDisposable {
  readonly #deps: SshPoolDeps;
  readonly #entries = new Map<string, Entry>();
  readonly #closing = new Set<Promise<void>>();
  readonly #numbers = new WeakMap<object, number>();
  #nextNumber = 0;
  #isOver = false;

  constructor(deps: SshPoolDeps) {
    this.#deps = deps;
  }

  /** Acquires the hops of a chain. */
  hold(chain: readonly SshHost[], { reach, times }: SshChainStart): HeldChain {
    const { keepalive, deadAfter, connectTimeout } = times;
    const deps = { ...this.#deps, keepalive, deadAfter, connectTimeout };
    const entries: Entry[] = [];
    let key = JSON.stringify([this.#numberOf(reach), keepalive, deadAfter, connectTimeout]);
    for (const host of chain) {
      key += `\n${keyOf(host)}`;
      const before = entries.map(({ hop }) => hop);
      const below = before.at(-1);
      entries.push(
        this.#entry(key, () =>
          host.engine === "openssh" ? this.#deps.openSsh(host, times) : new SshHop({
            host,
            connect: (options) =>
              connectSsh({ host, below, reach: (options) => reach(host, options), deps }, options),
            checkPath: () => before.forEach((hop) => hop.check()),
            deps,
          })),
      );
    }
    let isHeld = true;
    return {
      hops: entries.map(({ hop }) => hop),
      release: () => {
        if (!isHeld) return;
        isHeld = false;
        for (const entry of entries.toReversed()) this.#release(entry);
      },
    };
  }

  get hops(): readonly SshStation[] {
    return [...this.#entries.values()].map(({ hop }) => hop);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    // Close the last hops first: their sessions are channels of the hops before them.
    for (const entry of [...this.#entries.values()].toReversed()) await this.#close(entry);
    await Promise.all(this.#closing);
  }

  #entry(key: string, make: () => SshStation): Entry {
    let entry = this.#entries.get(key);
    if (!entry) this.#entries.set(key, entry = { key, hop: make(), holders: 0 });
    entry.holders++;
    entry.timer?.[Symbol.dispose]();
    delete entry.timer;
    return entry;
  }

  #release(entry: Entry): void {
    entry.holders--;
    this.#waitForEnd(entry);
  }

  #waitForEnd(entry: Entry): void {
    if (entry.holders > 0 || this.#isOver) return;
    entry.timer = this.#deps.clock.after(lingering, () => {
      if (entry.hop.channels > 0) return this.#waitForEnd(entry);
      const closing = this.#close(entry).finally(() => this.#closing.delete(closing));
      this.#closing.add(closing);
    });
  }

  async #close(entry: Entry): Promise<void> {
    entry.timer?.[Symbol.dispose]();
    this.#entries.delete(entry.key);
    await entry.hop[Symbol.asyncDispose]();
  }

  #numberOf(reach: object): number {
    let number = this.#numbers.get(reach);
    if (number === undefined) this.#numbers.set(reach, number = this.#nextNumber++);
    return number;
  }
}

interface Entry {
  readonly key: string;
  readonly hop: SshStation;
  holders: number;
  timer?: Disposable;
}

/** Identifies a host by what affects its connection, but not by its alias, jumps or problems. */
function keyOf(host: SshHost): string {
  const { alias: _alias, problems: _problems, jumps: _jumps, ...rest } = host;
  // The program reads the configuration itself, by the alias.
  return JSON.stringify(host.engine === "openssh" ? host : rest);
}

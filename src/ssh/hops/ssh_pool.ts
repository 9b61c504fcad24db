import type { Conn, DialOptions } from "../../core/mod.ts";
import type { Target } from "../../words/mod.ts";
import { connectSsh, type SshHopDeps } from "../session/connect_ssh.ts";
import { SshHop, type SshHopStatus } from "./ssh_hop.ts";
import type { SshHost } from "../config/ssh_host.ts";
import type { SshSection } from "../config/ssh_section.ts";

/** How long a hop that nobody refers to is kept, so that a reload finds its session again. */
const lingering = 30_000;

/** How long things may take, in milliseconds. */
export type SshTimes = Pick<SshSection, "keepalive" | "deadAfter" | "connectTimeout">;

export interface SshPoolDeps extends Omit<SshHopDeps, keyof SshTimes> {
  /** Makes the station of a host for which the person's ssh program is to be used. */
  readonly openSsh: (host: SshHost, times: SshTimes) => SshStation;
}

/** Where a chain begins. */
export interface SshChainStart {
  /** Connects to the first host; chains are apart where it is another function, even if their hosts are the same. */
  readonly reach: (host: SshHost, options: DialOptions) => Promise<Conn>;
  readonly times: SshTimes;
}

/** One host of a chain, whoever speaks ssh to it. */
export interface SshStation extends AsyncDisposable {
  readonly host: SshHost;
  /** How many connections go through it now. */
  readonly channels: number;
  dial(target: Target, options: DialOptions): Promise<Conn>;
  ready(options: DialOptions): Promise<void>;
  check(): void;
  status(): SshHopStatus;
}

/** A chain that is held: its hops stay until it is given back. */
export interface HeldChain {
  readonly hops: readonly SshStation[];
  /** Gives it back; hops that nobody else holds serve what they carry to the end. */
  release(): void;
}

/** The ssh hosts of all transports: who passes through the same host in the same way shares its session. */
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

  /** Holds the hops of a chain. */
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
            checkWay: () => before.forEach((hop) => hop.check()),
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

  /** Every hop that there is. */
  get hops(): readonly SshStation[] {
    return [...this.#entries.values()].map(({ hop }) => hop);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    // The last hops first: their sessions are channels of those before.
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

/** What makes two hosts the same; by which name they were asked for, and what was noted of it, does not. */
function keyOf(host: SshHost): string {
  const { alias: _alias, problems: _problems, jumps: _jumps, ...rest } = host;
  // The program is told the name alone: it reads the configuration itself.
  return JSON.stringify(host.engine === "openssh" ? host : rest);
}

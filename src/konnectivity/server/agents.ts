import { type Clock, type Conn, within } from "../../core/mod.ts";
import { normalHost, PosternError, type Target } from "../../words/mod.ts";
import type { PacketDialer } from "../packet_dialer.ts";
import type { AgentIdentifiers } from "./agent_identifiers.ts";

/** How an agent is chosen: any of them, the one that names the target, or those that are the way to everything. */
export type AgentStrategy = "default" | "destHost" | "defaultRoute";

/** An agent that is connected. */
export interface AgentLink {
  readonly id: string;
  readonly identifiers: AgentIdentifiers;
  readonly peer: string;
  readonly dialer: PacketDialer;
  /** It wants no more connections. */
  isDraining: boolean;
}

export interface AgentsOptions {
  readonly clock: Clock;
  /** Tried in this order. */
  readonly strategies: readonly AgentStrategy[];
  /** How long one dial may take, in ms. */
  readonly dialTimeout: number;
  /** From 0 to below 1. */
  readonly random: () => number;
}

/** The agents that are connected to a server, and which of them a dial goes to. */
export class Agents {
  readonly #options: AgentsOptions;
  /** In the order in which they came. */
  readonly #links = new Set<AgentLink>();

  constructor(options: AgentsOptions) {
    this.#options = options;
  }

  get links(): Iterable<AgentLink> {
    return this.#links;
  }

  get size(): number {
    return this.#links.size;
  }

  /** Whether there is a target that could be reached now. */
  get isReady(): boolean {
    return this.#options.strategies.some((strategy) =>
      [...this.#links].some((link) => isFor(link, strategy))
    );
  }

  /** How many agents a strategy may choose among. */
  count(strategy: AgentStrategy): number {
    return new Set([...this.#links].filter((link) => isFor(link, strategy)).map(({ id }) => id)).size;
  }

  add(link: AgentLink): Disposable {
    this.#links.add(link);
    return { [Symbol.dispose]: () => void this.#links.delete(link) };
  }

  /** Connects to a target through the first agent that is there to do it. What the target says is the answer. */
  async dial(target: Target, { signal }: { signal: AbortSignal }): Promise<Conn> {
    const candidates = this.candidates(target.host);
    if (candidates.length === 0) {
      throw new PosternError("unreachable", "No agent available", { detail: "no_agent" });
    }
    const { clock, dialTimeout } = this.#options;
    const late = () =>
      new PosternError("timeout", "Cannot wait for the agent any longer: i/o timeout", {
        detail: "silent_agent",
      });
    return await within({ clock, ms: dialTimeout, signal, error: late }, async (signal) => {
      let failure: unknown;
      for (const { dialer } of candidates) {
        try {
          return await dialer.dial(target, { signal });
        } catch (error) {
          signal.throwIfAborted();
          failure = error;
          // Only an agent that is lost says nothing about the target.
          if (!dialer.isOver) break;
        }
      }
      throw failure;
    });
  }

  /**
   * Who may reach a host, the best one first; those that drain come last, behind connections that their agent has
   * replaced: it may be the new one that goes, when the agent looks for another server and finds this one again.
   */
  candidates(host: string): AgentLink[] {
    for (const strategy of this.#options.strategies) {
      const found = [...this.#links].filter((link) => serves(link, strategy, host));
      if (found.length === 0) continue;
      const newest = newestOfEach(found);
      const replaced = found.filter((link) => !newest.includes(link));
      const mixed = [...this.#mixed(newest), ...replaced];
      return [...mixed.filter((link) => !link.isDraining), ...mixed.filter((link) => link.isDraining)];
    }
    return [];
  }

  #mixed(links: readonly AgentLink[]): AgentLink[] {
    const rest = [...links];
    return links.map(() => rest.splice(Math.floor(this.#options.random() * rest.length), 1)[0] as AgentLink);
  }
}

/** Whether a strategy may ever choose it. */
function isFor({ identifiers }: AgentLink, strategy: AgentStrategy): boolean {
  if (strategy === "default") return true;
  return strategy === "destHost" ? identifiers.hosts.size > 0 : identifiers.isDefaultRoute;
}

function serves({ identifiers }: AgentLink, strategy: AgentStrategy, host: string): boolean {
  if (strategy === "default") return true;
  return strategy === "destHost" ? identifiers.hosts.has(normalHost(host)) : identifiers.isDefaultRoute;
}

/** An agent that came again has left its former connection, whether that is known yet or not. */
function newestOfEach(links: readonly AgentLink[]): AgentLink[] {
  return [...new Map(links.map((link) => [link.id, link])).values()];
}

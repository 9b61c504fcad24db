import { type Clock, type Conn, within } from "../../core/mod.ts";
import { normalHost, PosternError, type Target } from "../../words/mod.ts";
import type { PacketDialer } from "../packet_dialer.ts";
import type { AgentIdentifiers } from "./agent_identifiers.ts";

/** How to choose an agent: any agent, the one that names the target's host, or a default route. */
export type AgentStrategy = "default" | "destHost" | "defaultRoute";

export interface AgentLink {
  readonly id: string;
  readonly identifiers: AgentIdentifiers;
  readonly peer: string;
  readonly dialer: PacketDialer;
  /** Whether the agent accepts no more connections. */
  isDraining: boolean;
}

export interface AgentsOptions {
  readonly clock: Clock;
  /** Tried in this order. */
  readonly strategies: readonly AgentStrategy[];
  /** Timeout of one dial, in ms. */
  readonly dialTimeout: number;
  /** From 0 to less than 1. */
  readonly random: () => number;
}

/** The connected agents of a server; chooses the agent for each dial. */
export class Agents {
  readonly #options: AgentsOptions;
  /** In the order of connection. */
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

  /** Whether a strategy has an agent. */
  get isReady(): boolean {
    return this.#options.strategies.some((strategy) =>
      [...this.#links].some((link) => isFor(link, strategy))
    );
  }

  /** The number of agents that a strategy may choose from. */
  count(strategy: AgentStrategy): number {
    return new Set([...this.#links].filter((link) => isFor(link, strategy)).map(({ id }) => id)).size;
  }

  add(link: AgentLink): Disposable {
    this.#links.add(link);
    return { [Symbol.dispose]: () => void this.#links.delete(link) };
  }

  /** Connects to a target through the first working agent. A response about the target is final. */
  async dial(target: Target, { signal }: { signal: AbortSignal }): Promise<Conn> {
    const candidates = this.candidates(target.host);
    if (candidates.length === 0) {
      throw new PosternError("unreachable", "No agent available", { detail: "no_agent" });
    }
    const { clock, dialTimeout } = this.#options;
    const late = () =>
      new PosternError("timeout", "Cannot connect through the agent: i/o timeout", {
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
          // Only the failure of a lost agent says nothing about the target.
          if (!dialer.isOver) break;
        }
      }
      throw failure;
    });
  }

  /**
   * The agents for a host, best first: the newest connection of each agent, then replaced connections,
   * because the agent may close the newer one as a duplicate. Draining agents come last.
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

/** Whether a strategy may choose this agent at all. */
function isFor({ identifiers }: AgentLink, strategy: AgentStrategy): boolean {
  if (strategy === "default") return true;
  return strategy === "destHost" ? identifiers.hosts.size > 0 : identifiers.isDefaultRoute;
}

function serves({ identifiers }: AgentLink, strategy: AgentStrategy, host: string): boolean {
  if (strategy === "default") return true;
  return strategy === "destHost" ? identifiers.hosts.has(normalHost(host)) : identifiers.isDefaultRoute;
}

/**
 * Keeps the newest connection of each agent: a reconnected agent has left the old one, even if the server
 * does not know yet.
 */
function newestOfEach(links: readonly AgentLink[]): AgentLink[] {
  return [...new Map(links.map((link) => [link.id, link])).values()];
}

import { discoverLieutenant } from "../catalogue/mod.ts";
import { type Transport, within } from "../core/mod.ts";
import { HttpClient } from "../http/mod.ts";
import { loadConfig, transportOf, Transports } from "../plan/mod.ts";
import { unknownHost } from "../ssh/mod.ts";
import type { BuiltTransport } from "../transports/mod.ts";
import {
  asPosternError,
  formatTarget,
  isPosternError,
  PosternError,
  type Target,
  targetOf,
} from "../words/mod.ts";
import type { Dialer, World } from "../world/mod.ts";
import type { Proposal, ProposedCatalogue, ProposedTransport } from "./proposal.ts";

/** The result of trying one line of a proposal. */
export interface SetupCheck {
  readonly kind: ProposedTransport["kind"] | "route" | "catalogue";
  /** The transport, the pattern, or the host of the catalogue. */
  readonly name: string;
  readonly outcome: "ok" | "failed";
  readonly detail: string;
  readonly hint?: string | undefined;
  readonly ms: number;
}

export interface TryOptions {
  /** Returns the text of a configuration with a proposal. */
  readonly textOf: (proposal: Proposal) => string;
  /** The path of the configuration. */
  readonly path: string;
  /** Whether a user at the terminal answers questions. */
  readonly asks: boolean;
  /** The timeout of each line, in ms. */
  readonly limit: number;
  /** Gets each result when it is known. */
  readonly told: (check: SetupCheck) => Promise<void>;
  readonly signal: AbortSignal;
}

/** How long to wait for a direct connection before another path is tried, in ms. */
const directLimit = 5000;

/** Builds the transports of a configuration with a proposal, and closes them afterwards. */
export async function withTransports<T>(
  world: World,
  proposal: Proposal,
  options: TryOptions,
  use: (trial: Trial) => Promise<T>,
): Promise<T> {
  const around = withSecrets(world, proposal);
  const config = await loadConfig(around, { text: options.textOf(proposal), config: options.path });
  await using transports = new Transports(around, config, { asks: options.asks ? "any" : "none" });
  return await use(new Trial(around, transports, options));
}

/** Reads the password files of a proposal as if they were written. */
function withSecrets(world: World, { secrets }: Proposal): World {
  const { clock, network, stores, process, terminal, places } = world;
  const texts = new Map(secrets.map(({ path, text }) => [path, text]));
  const files = new Proxy(world.files, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return (path: unknown, ...more: unknown[]) => {
        const text = typeof path === "string" ? texts.get(path) : undefined;
        if (text !== undefined && (name === "readText" || name === "readTextIfThere")) {
          return Promise.resolve(text);
        }
        if (text !== undefined && name === "info") {
          return Promise.resolve({
            kind: "file",
            size: text.length,
            modified: 0,
            mode: 0o600,
            owner: undefined,
          });
        }
        return Reflect.apply(value, target, [path, ...more]);
      };
    },
  });
  return { clock, network, files, stores, process, terminal, places };
}

/** Tries the lines of a proposal, each within a time limit. */
export class Trial {
  readonly #world: World;
  readonly #transports: Transports;
  readonly #options: TryOptions;

  constructor(world: World, transports: Transports, options: TryOptions) {
    this.#world = world;
    this.#transports = transports;
    this.#options = options;
  }

  /** Runs a check and reports its result; returns whether it passed. */
  async check(
    kind: SetupCheck["kind"],
    name: string,
    run: (signal: AbortSignal) => Promise<string>,
  ): Promise<boolean> {
    const { told, signal } = this.#options;
    const { clock } = this.#world;
    const begun = clock.now();
    const ms = () => Math.round(clock.now() - begun);
    try {
      const detail = await this.#within(this.#options.limit, run);
      await told({ kind, name, outcome: "ok", detail, ms: ms() });
      return true;
    } catch (error) {
      signal.throwIfAborted();
      const { message, hint } = asPosternError(error);
      await told({ kind, name, outcome: "failed", detail: message, hint, ms: ms() });
      return false;
    }
  }

  async signIn({ name }: ProposedTransport, signal: AbortSignal): Promise<string> {
    await this.#demandKnownHosts(name);
    const { transport } = this.#built(name);
    await this.#connect(transport, signal);
    const hops = transport.status?.().hops ?? [];
    return `signed in to ${hops.map(({ host }) => host).join(", then ")}`;
  }

  /** Asks a proxy for a tunnel to itself: any answer but a demand for credentials proves that it works. */
  async askProxy({ name, server }: ProposedTransport, signal: AbortSignal): Promise<string> {
    const { transport } = this.#built(name);
    if (!server) throw new PosternError("internal", `Cannot check the proxy "${name}": it has no address`);
    try {
      const conn = await transport.dial(server, { signal });
      await conn[Symbol.asyncDispose]();
    } catch (error) {
      signal.throwIfAborted();
      if (transport.status?.().state !== "ready") throw error;
    }
    return `${formatTarget(server)} answers`;
  }

  /** Connects to a host that a route is for; a refused connection proves that the host is there. */
  async reachExample(via: string, example: Target, signal: AbortSignal): Promise<string> {
    await this.#demandKnownHosts(via);
    try {
      const conn = await this.#built(via).transport.dial(example, { signal });
      await conn[Symbol.asyncDispose]();
      return `${formatTarget(example)} answers through ${via}`;
    } catch (error) {
      if (!isPosternError(error, "refused")) throw error;
      return `${example.host} is reachable and refuses port ${example.port}`;
    }
  }

  /** The transport through which a cluster's API server answers; undefined for a direct connection. */
  async pathTo(
    { server, candidates = [] }: Pick<ProposedTransport, "server" | "candidates">,
    works: (name: string) => boolean,
  ): Promise<string | undefined> {
    const usable = candidates.filter(works);
    return server && usable.length > 0 ? await this.#path(server, usable) : undefined;
  }

  /** Reads the public description of a catalogue. */
  async catalogue(
    catalogue: ProposedCatalogue,
    works: (name: string) => boolean,
  ): Promise<ProposedCatalogue | undefined> {
    const { url, candidates = [] } = catalogue;
    const via = catalogue.via ?? await this.pathTo({ server: targetOf(url), candidates }, works);
    const isFine = await this.check("catalogue", url.host, async (signal) => {
      const { clock, network } = this.#world;
      await this.#demandKnownHosts(via ?? "direct");
      const dial = this.#dialer(via ?? "direct");
      const client = new HttpClient({ clock, network, dial }, { timeout: this.#options.limit });
      const { oidc } = await discoverLieutenant(url, { client }, { signal });
      return `answers${via === undefined ? "" : ` through ${via}`}${oidc ? "" : ", without a sign-in"}`;
    });
    if (!isFine) return undefined;
    return via === undefined ? catalogue : { ...catalogue, via };
  }

  async connectCluster({ name, via }: ProposedTransport, signal: AbortSignal): Promise<string> {
    await this.#demandKnownHosts(name);
    const { transport } = this.#built(name);
    await this.#connect(transport, signal);
    const { clusters = [] } = transport.status?.() ?? {};
    const version = clusters[0]?.version;
    return `${clusters[0]?.server ?? "the API server"} answers${via === undefined ? "" : ` through ${via}`}` +
      (version === undefined ? "" : `: Kubernetes ${version}`);
  }

  /** The first path on which a server accepts connections; undefined for a direct one, and if none works. */
  async #path(server: Target, names: readonly string[]): Promise<string | undefined> {
    for (const name of ["direct", ...names]) {
      const limit = name === "direct" ? Math.min(directLimit, this.#options.limit) : this.#options.limit;
      try {
        await this.#demandKnownHosts(name);
        const conn = await this.#within(limit, (signal) => this.#dialer(name)(server, { signal }));
        await conn[Symbol.asyncDispose]();
        return name === "direct" ? undefined : name;
      } catch {
        // The check of the cluster or catalogue reports why a direct connection fails.
        this.#options.signal.throwIfAborted();
      }
    }
    return undefined;
  }

  async #connect(transport: Transport, signal: AbortSignal): Promise<void> {
    const notes = await transport.prepare?.() ?? [];
    const blocking = notes.find(({ severity }) => severity === "blocking");
    if (blocking) {
      throw new PosternError("config", blocking.text, blocking.hint ? { hint: blocking.hint } : {});
    }
    await transport.connect?.({ signal });
  }

  #within<T>(ms: number, run: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const error = () => new PosternError("timeout", `Cannot connect: no answer within ${ms / 1000} s`);
    return within({ clock: this.#world.clock, ms, signal: this.#options.signal, error }, run);
  }

  #dialer(name: string): Dialer {
    const { transport } = this.#built(name);
    return (target, options) => transport.dial(target, options);
  }

  #built(name: string) {
    return transportOf(this.#transports.plan, { transport: name });
  }

  /** Throws if a new host key would be accepted on the path of a transport. */
  async #demandKnownHosts(name: string): Promise<void> {
    for (let at: string | undefined = name; at !== undefined;) {
      const { type, settings, via }: BuiltTransport = this.#built(at);
      at = via;
      if (type !== "ssh" || typeof settings !== "string") continue;
      const unknown = await unknownHost(settings, this.#transports.ssh.read, this.#world);
      if (!unknown) continue;
      throw new PosternError("auth", `Cannot use ssh ${unknown.alias}: its host key is not known yet`, {
        hint: `connect once and compare the host key: ssh ${unknown.alias}`,
      });
    }
  }
}

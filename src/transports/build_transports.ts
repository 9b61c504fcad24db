import type { Clock, Log, Transport } from "../core/mod.ts";
import type { Dialer, Files, Network, Process } from "../world/mod.ts";
import { PosternError, type Target } from "../words/mod.ts";
import type { TransportKind } from "./define_transport.ts";
import { Direct } from "./direct.ts";
import { Reject } from "./reject.ts";
import { sameSettings } from "../config/mod.ts";
import type { SshServices } from "../ssh/mod.ts";
import type { TransportsSettings } from "./transports_schema.ts";

export interface BuildDeps {
  readonly network: Network;
  readonly clock: Clock;
  readonly log: Log;
  readonly files: Files;
  readonly process: Pick<Process, "run">;
  /** Outlives the sets of transports: sessions of unchanged transports stay up in a reload. */
  readonly ssh: SshServices;
  /** Whether an address is a listener of this instance, in use or configured. */
  readonly isOwnListener?: (target: Target) => boolean;
  /** The directory for learned cluster facts; without it, nothing is stored. */
  readonly learned?: string;
}

export interface BuiltTransport {
  readonly name: string;
  /** Its kind: `direct`, `reject`, `proxy`, … */
  readonly type: string;
  readonly settings: unknown;
  /** The transport that makes its connections; absent for direct connections. */
  readonly via?: string | undefined;
  /** The same transport after building; includes `direct`. */
  readonly below?: BuiltTransport;
  readonly transport: Transport;
}

/** All transports of a configuration. */
export interface BuiltTransports {
  /** By name, with the built-in `direct` and `reject`. */
  readonly byName: ReadonlyMap<string, BuiltTransport>;
  /** Transports of the previous set that were not reused. The caller disposes them when they are unused. */
  readonly dropped: readonly BuiltTransport[];
}

/**
 * Builds a set of transports without I/O. Reuses a transport of `previous`, with its sessions, if its
 * settings and those of every transport on its path are unchanged.
 */
export function buildTransportsOf(
  kinds: readonly TransportKind[],
  settings: TransportsSettings,
  { deps, previous }: { readonly deps: BuildDeps; readonly previous?: BuiltTransports | undefined },
): BuiltTransports {
  const builder = new Builder(kinds, settings, { deps, previous: previous?.byName ?? new Map() });
  for (const name of ["direct", "reject", ...Object.keys(settings)]) builder.build(name);
  const kept = new Set(builder.built.values());
  return {
    byName: builder.built,
    dropped: [...previous?.byName.values() ?? []].filter((built) => !kept.has(built)),
  };
}

class Builder {
  readonly built = new Map<string, BuiltTransport>();
  readonly #kinds: readonly TransportKind[];
  readonly #settings: TransportsSettings;
  readonly #deps: BuildDeps;
  readonly #previous: ReadonlyMap<string, BuiltTransport>;

  constructor(
    kinds: readonly TransportKind[],
    settings: TransportsSettings,
    { deps, previous }: { deps: BuildDeps; previous: ReadonlyMap<string, BuiltTransport> },
  ) {
    this.#kinds = kinds;
    this.#settings = settings;
    this.#deps = deps;
    this.#previous = previous;
  }

  /** `above` holds the transports that depend on this one. */
  build(name: string, above: readonly string[] = []): BuiltTransport {
    const built = this.built.get(name) ?? this.#implicit(name) ?? this.#configured(name, above);
    this.built.set(name, built);
    return built;
  }

  #implicit(name: string): BuiltTransport | undefined {
    if (name !== "direct" && name !== "reject") return undefined;
    const before = this.#previous.get(name);
    if (before) return before;
    const transport = name === "direct"
      ? new Direct(this.#deps)
      : new Reject(name, "Cannot reach this target: a rule of postern rejects it");
    return { name, type: name, settings: undefined, transport };
  }

  #configured(name: string, above: readonly string[]): BuiltTransport {
    const wanted = Object.hasOwn(this.#settings, name) ? this.#settings[name] : undefined;
    const kind = this.#kinds.find(({ type }) => type === wanted?.kind);
    // The schema reports both errors; this check protects callers that skip it.
    if (!wanted || !kind) {
      throw new PosternError("config", `Cannot build the transport "${name}": unknown name`);
    }
    if (above.includes(name)) {
      throw new PosternError("config", `Cannot build the transport "${name}": its path contains itself`);
    }
    const below = this.build(wanted.via ?? "direct", [...above, name]);
    return this.#kept(name) ?? {
      name,
      type: kind.type,
      settings: wanted.settings,
      via: wanted.via,
      below,
      transport: kind.create(wanted.settings, {
        ...this.#deps,
        name,
        dialer: this.#isAskedBy(below.name, name) && below.transport.dialUnasked ||
          dialerThrough(below.transport),
        sibling: (other) => this.built.get(other)?.transport,
        via: wanted.via,
        log: this.#deps.log.with({ transport: name }),
      }),
    };
  }

  /**
   * Returns the previous transport of this name, if its settings, its path and its references are unchanged.
   */
  #kept(name: string): BuiltTransport | undefined {
    return this.#isSame(name, new Set()) ? this.#previous.get(name) : undefined;
  }

  #isSame(name: string, seen: Set<string>): boolean {
    const before = this.#previous.get(name);
    if (seen.has(name) || !Object.hasOwn(this.#settings, name)) return before !== undefined;
    seen.add(name);
    const wanted = this.#settings[name];
    return before !== undefined && before.type === wanted?.kind && before.via === wanted.via &&
      sameSettings(before.settings, wanted.settings) &&
      [wanted.via ?? "direct", ...this.#namedBy(name)].every((next) => this.#isSame(next, seen));
  }

  /** The names of the transports in the settings of transport `name`. */
  #namedBy(name: string): string[] {
    const wanted = Object.hasOwn(this.#settings, name) ? this.#settings[name] : undefined;
    const kind = this.#kinds.find(({ type }) => type === wanted?.kind);
    return (kind?.references?.(wanted?.settings) ?? []).map(({ name }) => name);
  }

  /** Whether transport `asking` queries transport `name`, directly or on its path. `name` would then wait for itself. */
  #isAskedBy(asking: string, name: string): boolean {
    return this.#namedBy(asking).some((asked) => {
      let hop: string | undefined = asked;
      for (const seen = new Set<string>(); hop !== undefined && !seen.has(hop);) {
        if (hop === name) return true;
        seen.add(hop);
        hop = Object.hasOwn(this.#settings, hop) ? this.#settings[hop]?.via : undefined;
      }
      return false;
    });
  }
}

const dialers = new WeakMap<Transport, Dialer>();

/** Returns the same function for the same transport, so that users of one path can share sessions. */
function dialerThrough(transport: Transport): Dialer {
  let dialer = dialers.get(transport);
  if (!dialer) {
    dialer = (target, options) => transport.dial(target, options);
    dialers.set(transport, dialer);
  }
  return dialer;
}

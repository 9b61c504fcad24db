import { mariadbPeers, postgresPeers } from "../support/databases.ts";
import type { PeerPaths } from "../support/peers.ts";
import { sshPeers } from "../support/sshd.ts";
import {
  type ClusterSurroundings,
  clusterSurroundings,
  egressSurroundings,
  emergencySurroundings,
} from "./cluster_surroundings.ts";
import type { Surroundings } from "./document_run.ts";
import {
  databaseSurroundings,
  fleetSurroundings,
  gitSurroundings,
  konnectivitySurroundings,
  proxySurroundings,
  sshSurroundings,
} from "./network_surroundings.ts";

export type { Surroundings };

/** The real programs in the documents. */
export const surroundingPeers = [
  ...mariadbPeers,
  ...postgresPeers,
  ...sshPeers,
  "dex",
  "dig",
  "git",
  "gpg",
  "kubectl",
  "kubelogin",
  "kubernetes",
  "lieutenant",
  "mariadb",
  "microsocks",
  "psql",
  "redis_cli",
  "redis_server",
  "rsync",
  "tinyproxy",
  "torsocks",
  "versitygw",
] as const;

/** The paths of those programs, and the stack that stops them. */
export interface Start {
  readonly paths: PeerPaths<typeof surroundingPeers[number]>;
  readonly started: AsyncDisposableStack;
}

/** The surroundings that documents may request. */
type Kind =
  | "cluster"
  | "databases"
  | "egress"
  | "emergency"
  | "fleet"
  | "git"
  | "konnectivity"
  | "proxies"
  | "ssh";

/** The kinds that each kind includes. */
const included: Readonly<Record<string, readonly string[]>> = {
  databases: ["ssh"],
  egress: ["cluster"],
  emergency: ["cluster"],
  fleet: ["ssh"],
};

/** The real servers for examples in documents. The first document that needs a kind of server starts it. */
export class RealSurroundings implements AsyncDisposable {
  readonly #start: Start;
  readonly #kinds: Readonly<Record<Kind, () => Promise<Surroundings>>>;
  readonly #known = new Map<string, Promise<Surroundings>>();
  #kube: Promise<ClusterSurroundings> | undefined;

  constructor(paths: Start["paths"]) {
    const start = this.#start = { paths, started: new AsyncDisposableStack() };
    this.#kinds = {
      cluster: () => this.#cluster(),
      databases: () => databaseSurroundings(start),
      egress: async () => await egressSurroundings(await this.#cluster()),
      emergency: async () => await emergencySurroundings({ ...start, ...await this.#cluster() }),
      fleet: () => fleetSurroundings(start),
      git: () => gitSurroundings(start),
      konnectivity: () => Promise.resolve(konnectivitySurroundings),
      proxies: () => proxySurroundings(start),
      ssh: () => sshSurroundings(start),
    };
  }

  /** Returns the combined surroundings of these kinds. */
  async of(needs: readonly string[]): Promise<Surroundings> {
    const kinds = new Set(needs.flatMap((name) => [...included[name] ?? [], name]));
    const all = await Promise.all([...kinds].map((kind) => this.#one(kind)));
    return all.reduce((one, other) => ({
      ...one,
      ...other,
      files: { ...one.files, ...other.files },
      env: { ...one.env, ...other.env },
      ...one.hosts || other.hosts ? { hosts: [...one.hosts ?? [], ...other.hosts ?? []] } : {},
      stands: { ...one.stands, ...other.stands },
      programs: { ...one.programs, ...other.programs },
    }));
  }

  #one(kind: string): Promise<Surroundings> {
    const known = this.#known.get(kind);
    if (known) return known;
    if (!isKind(kind, this.#kinds)) throw new Error(`a document needs the unknown surroundings "${kind}"`);
    const started = this.#kinds[kind]();
    this.#known.set(kind, started);
    return started;
  }

  #cluster(): Promise<ClusterSurroundings> {
    return this.#kube ??= clusterSurroundings(this.#start);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#start.started.disposeAsync();
  }
}

function isKind<Name extends string>(name: string, known: Readonly<Record<Name, unknown>>): name is Name {
  return Object.hasOwn(known, name);
}

import { konnectivityPeers } from "../support/konnectivity_lab.ts";
import type { KubeCluster } from "../support/kube_cluster.ts";
import type { PeerPaths } from "../support/peers.ts";
import { Household, type Instance } from "../support/postern_process.ts";
import { sshPeers } from "../support/sshd.ts";
import type { LivePart } from "./live_parts.ts";
import { startCluster } from "./world_cluster.ts";
import { instancePart } from "./world_instance.ts";
import { startKonnectivity } from "./world_konnectivity.ts";
import { startLieutenant } from "./world_lieutenant.ts";
import { startProxies } from "./world_proxies.ts";
import { startSsh } from "./world_ssh.ts";

/** The required peers. */
export const worldPeers = [
  ...[...sshPeers, ...konnectivityPeers],
  ...(["kubernetes", "lieutenant", "tinyproxy"] as const),
] as const;

/** A route from the instance to its own target. */
export interface WorldWay {
  readonly name: string;
  /** The target that a client requests. */
  readonly target: { readonly host: string; readonly port: number };
  /** Whether the server forwards a half-close: upstream's Konnectivity and tinyproxy do not. */
  readonly carriesHalfClose: boolean;
}

/** The routes of a world. `behind` uses `one`, `deep` uses `corp`. */
export const wayNames = [
  ...["direct", "one", "chain", "lab", "behind", "hosted", "own", "corp", "upstream", "deep"],
] as const;

export type WayName = typeof wayNames[number];

const halfClosing: readonly WayName[] = ["direct", "one", "chain", "lab", "behind", "own", "upstream"];

/**
 * One real instance with all kinds of servers: two ssh servers, a cluster with its API server and node,
 * Konnectivity with upstream's programs and with ours, tinyproxy, another instance, and a Lieutenant. The
 * test can make each part fail.
 */
export class WholeWorld implements AsyncDisposable {
  readonly ways: readonly WorldWay[];
  readonly parts: readonly LivePart[];
  readonly instance: Instance;
  readonly home: Household;
  readonly cluster: KubeCluster;
  /** The other running postern programs. */
  readonly others: () => readonly Instance[];
  readonly #started: AsyncDisposableStack;

  private constructor(made: Omit<WholeWorld, typeof Symbol.asyncDispose>, started: AsyncDisposableStack) {
    this.ways = made.ways;
    this.parts = made.parts;
    this.instance = made.instance;
    this.home = made.home;
    this.cluster = made.cluster;
    this.others = made.others;
    this.#started = started;
  }

  /** `targets` has one loopback port for each route. */
  static async start(
    paths: PeerPaths<typeof worldPeers[number]>,
    targets: Readonly<Record<WayName, number>>,
  ): Promise<WholeWorld> {
    await using started = new AsyncDisposableStack();
    const [ssh, cluster, konnectivity, proxies] = await Promise.all([
      startSsh(paths, started),
      startCluster(paths, started, targets),
      startKonnectivity(paths, started),
      startProxies(paths, started),
    ]);
    const lieutenant = await startLieutenant(paths, started, cluster.cluster);
    const home = started.use(await Household.open());
    const text = (spare: string) =>
      [
        `ssh: { config: ${JSON.stringify(ssh.config)}, deadAfter: 9s }`,
        "transports:",
        ...ssh.transports,
        ...cluster.transports,
        ...konnectivity.transports,
        ...proxies.transports,
        `  spare: { reject: ${spare} }`,
        "routes:",
        "  - { to: [lab.internal], via: lab }",
        "  - { to: [behind.internal], via: behind }",
        ...wayNames.map((way) => `  - { to: "127.0.0.1:${targets[way]}", via: ${way} }`),
        lieutenant.catalogues,
      ].join("\n") + "\n";
    await home.configure(text("nothing"));
    await lieutenant.begin(home);
    const instance = await home.instance(["--log-level", "info"]);
    const parts: LivePart[] = [
      ...ssh.parts,
      ...cluster.parts,
      ...konnectivity.parts,
      ...proxies.parts,
      instancePart(home, instance, text),
      lieutenant.part(home),
    ];
    return new WholeWorld({
      ways: wayNames.map((name) => ({
        name,
        target: cluster.targetOf(name) ?? { host: "127.0.0.1", port: targets[name] },
        carriesHalfClose: halfClosing.includes(name),
      })),
      parts,
      instance,
      home,
      cluster: cluster.cluster,
      others: () => [...konnectivity.programs(), proxies.upstream()],
    }, started.move());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#started.disposeAsync();
  }
}

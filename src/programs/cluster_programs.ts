import type { KnownCluster } from "../clusters/mod.ts";
import { PosternError } from "../words/mod.ts";
import type { World } from "../world/mod.ts";
import { apiAuthorities } from "./api_authorities.ts";
import { environmentOfProgram } from "../instance/mod.ts";
import type { Fleet } from "../fleet/mod.ts";
import {
  openProgramInstance,
  type ProgramInstance,
  type ProgramInstanceOptions,
} from "./program_instance.ts";
import { ProgramFiles } from "./program_files.ts";
import { fileName } from "./temporary_kubeconfig.ts";

/** The environment of a program that works in one cluster. */
export interface ClusterEnvironment {
  readonly variables: Record<string, string>;
  /** Notes for the user. */
  readonly notes: readonly string[];
}

export interface ClusterProgramsOptions extends ProgramInstanceOptions {
  /** Whether to trust the certificate authority of an API server on first use. */
  readonly trustsFirstUse?: boolean;
}

/**
 * The resources of programs that work in clusters, during their lifetime: an instance and temporary files.
 */
export class ClusterPrograms implements AsyncDisposable {
  readonly #world: World;
  readonly #fleet: Fleet;
  readonly #instance: ProgramInstance;
  readonly #files: ProgramFiles;
  readonly #held: AsyncDisposableStack;
  readonly #options: ClusterProgramsOptions;

  private constructor(
    world: World,
    { fleet, instance, files, held, options }: {
      readonly fleet: Fleet;
      readonly instance: ProgramInstance;
      readonly files: ProgramFiles;
      readonly held: AsyncDisposableStack;
      readonly options: ClusterProgramsOptions;
    },
  ) {
    this.#world = world;
    this.#fleet = fleet;
    this.#instance = instance;
    this.#files = files;
    this.#held = held;
    this.#options = options;
  }

  static async open(world: World, fleet: Fleet, options: ClusterProgramsOptions): Promise<ClusterPrograms> {
    await using held = new AsyncDisposableStack();
    // The user waits for both before each kubectl, so start them together.
    const opening = [ProgramFiles.open(world, options.log), openProgramInstance(world, options)] as const;
    for (const one of await Promise.allSettled(opening)) if (one.status === "fulfilled") held.use(one.value);
    const [files, instance] = await Promise.all(opening);
    return new ClusterPrograms(world, { fleet, instance, files, held: held.move(), options });
  }

  /** Writes the kubeconfig of a cluster; returns the variables for it and for the proxy. */
  async environment(known: KnownCluster): Promise<ClusterEnvironment> {
    const { kubeconfigOf, writtenKubeconfig } = await import("../kube/mod.ts");
    const { environment } = this.#instance;
    const proxyUrl = environment.proxyUrl ?? environment.socks.replace(/^socks5h:/, "socks5:");
    const { signal, trustsFirstUse = false } = this.#options;
    const authorities = await apiAuthorities(this.#world, [known], { proxyUrl, trustsFirstUse, signal });
    const { kubeconfig, notes } = kubeconfigOf([known], {
      proxyUrl,
      credentials: true,
      authorities: authorities.byName,
      self: this.#world.process.self,
      rulesFor: this.#fleet.rulesFor,
    });
    if (kubeconfig.clusters.length === 0) {
      throw new PosternError(
        "config",
        `Cannot work in ${known.name}: no fact contains an API URL that begins with https://`,
        { hint: "show the known facts: postern clusters -o yaml" },
      );
    }
    // Different names may give the same file name, and a program would then use the wrong cluster.
    const file = `${fileName(known.name)}-${crypto.randomUUID().slice(0, 8)}.kubeconfig`;
    const path = `${this.#files.directory}/${file}`;
    await this.#world.files.replace(path, await writtenKubeconfig(kubeconfig));
    return {
      variables: {
        ...environmentOfProgram(this.#world, { portable: environment }),
        KUBECONFIG: path,
        POSTERN_CLUSTER: known.name,
        KHARON_SHELL: "1",
      },
      notes: [...authorities.notes, ...notes],
    };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#held.disposeAsync();
  }
}

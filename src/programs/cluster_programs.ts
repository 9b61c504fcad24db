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

/** What a program needs to work in one cluster. */
export interface ClusterEnvironment {
  readonly variables: Record<string, string>;
  /** What a person should know. */
  readonly notes: readonly string[];
}

export interface ClusterProgramsOptions extends ProgramInstanceOptions {
  /** Whether the authority of an API server is believed when it is first asked. */
  readonly trustsFirstUse?: boolean;
}

/** What programs need to work in clusters, for as long as they run: a door, and files of their own. */
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
    // A person waits for both before each kubectl.
    const opening = [ProgramFiles.open(world, options.log), openProgramInstance(world, options)] as const;
    for (const one of await Promise.allSettled(opening)) if (one.status === "fulfilled") held.use(one.value);
    const [files, instance] = await Promise.all(opening);
    return new ClusterPrograms(world, { fleet, instance, files, held: held.move(), options });
  }

  /** Writes the kubeconfig of a cluster, and gives the variables that name it and the door. */
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
        `Cannot work in ${known.name}: no fact has an address of its API that begins with https://`,
        { hint: "see what is known: postern clusters -o yaml" },
      );
    }
    // Names that are alike may be one as the name of a file, and then a program would work in another cluster.
    const file = `${fileName(known.name)}-${crypto.randomUUID().slice(0, 8)}.kubeconfig`;
    const path = `${this.#files.directory}/${file}`;
    await this.#world.files.replace(path, await writtenKubeconfig(kubeconfig));
    return {
      variables: {
        ...environmentOfProgram(this.#world, environment),
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

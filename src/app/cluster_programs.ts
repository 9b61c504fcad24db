import type { KnownCluster } from "../clusters/mod.ts";
import { PosternError, type World } from "../core/mod.ts";
import { environmentOfProgram } from "./environment_text.ts";
import type { Fleet } from "./fleet.ts";
import { openProgramDoor, type ProgramDoor, type ProgramDoorOptions } from "./program_door.ts";
import { ProgramFiles } from "./program_files.ts";
import { fileName } from "./temporary_kubeconfig.ts";

/** What a program needs to work in one cluster. */
export interface ClusterEnvironment {
  readonly variables: Record<string, string>;
  /** What a person should know. */
  readonly notes: readonly string[];
}

/** What programs need to work in clusters, for as long as they run: a door, and files of their own. */
export class ClusterPrograms implements AsyncDisposable {
  readonly #world: World;
  readonly #fleet: Fleet;
  readonly #door: ProgramDoor;
  readonly #files: ProgramFiles;
  readonly #held: AsyncDisposableStack;

  private constructor(
    world: World,
    { fleet, door, files, held }: {
      readonly fleet: Fleet;
      readonly door: ProgramDoor;
      readonly files: ProgramFiles;
      readonly held: AsyncDisposableStack;
    },
  ) {
    this.#world = world;
    this.#fleet = fleet;
    this.#door = door;
    this.#files = files;
    this.#held = held;
  }

  static async open(world: World, fleet: Fleet, options: ProgramDoorOptions): Promise<ClusterPrograms> {
    await using held = new AsyncDisposableStack();
    const files = held.use(await ProgramFiles.open(world));
    const door = held.use(await openProgramDoor(world, options));
    return new ClusterPrograms(world, { fleet, door, files, held: held.move() });
  }

  /** Writes the kubeconfig of a cluster, and gives the variables that name it and the door. */
  async environment(known: KnownCluster): Promise<ClusterEnvironment> {
    const { kubeconfigOf, writtenKubeconfig } = await import("../clusters/mod.ts");
    const { environment } = this.#door;
    const { kubeconfig, notes } = kubeconfigOf([known], {
      proxyUrl: environment.proxyUrl ?? environment.socks.replace(/^socks5h:/, "socks5:"),
      credentials: true,
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
    const path = `${this.#files.directory}/${fileName(known.name)}.kubeconfig`;
    await this.#world.files.replace(path, await writtenKubeconfig(kubeconfig));
    return {
      variables: {
        ...environmentOfProgram(this.#world, environment),
        KUBECONFIG: path,
        POSTERN_CLUSTER: known.name,
        KHARON_SHELL: "1",
      },
      notes,
    };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#held.disposeAsync();
  }
}

import { absoluteFrom, type World } from "../world/mod.ts";

type Surroundings = Pick<World, "process" | "places">;

/** The kubeconfigs that kubectl merges, the first one first: those of `KUBECONFIG`, else `~/.kube/config`. */
export function usualKubeconfigs(world: Surroundings): readonly [string, ...string[]] {
  const [first, ...more] = namedKubeconfigs(world);
  return first === undefined ? [`${world.places.home}/.kube/config`] : [first, ...more];
}

/**
 * The same for an instance. Inside `postern shell` and the like, `KUBECONFIG` names a file that leads through an
 * instance and is gone when that program ends, so an instance never takes it.
 */
export function instanceKubeconfigs(world: Surroundings): readonly [string, ...string[]] {
  return isOfProgram(world) ? [`${world.places.home}/.kube/config`] : usualKubeconfigs(world);
}

/**
 * `KUBECONFIG` with absolute paths, for an instance that outlives the shell that starts it; undefined where the
 * instance reads `~/.kube/config`.
 */
export function keptKubeconfigs(world: Surroundings): string | undefined {
  const named = isOfProgram(world) ? [] : namedKubeconfigs(world);
  return named.length === 0 ? undefined : named.join(separatorOf(world));
}

/**
 * The files of `usualKubeconfigs` that a new entry goes into and that are read behind it, as kubectl chooses: the first
 * one that exists, else the last one.
 */
export async function writtenKubeconfigs(
  world: Pick<World, "process" | "places" | "files">,
): Promise<readonly [string, ...string[]]> {
  let left = usualKubeconfigs(world);
  while (!await world.files.info(left[0])) {
    const [, next, ...more] = left;
    if (next === undefined) break;
    left = [next, ...more];
  }
  return left;
}

/** The files of `KUBECONFIG`, absolute: relative paths start at the working directory. */
export function namedKubeconfigs(world: Surroundings): readonly string[] {
  const { process } = world;
  const named = (process.env("KUBECONFIG") ?? "").split(separatorOf(world)).filter((path) => path !== "");
  return [...new Set(named.map((path) => absoluteFrom(process.directory, path)))];
}

function separatorOf({ process }: Surroundings): string {
  return process.platform === "windows" ? ";" : ":";
}

/** `environment()` of `ClusterPrograms` sets both variables together. */
function isOfProgram({ process }: Surroundings): boolean {
  return Boolean(process.env("POSTERN_CLUSTER"));
}

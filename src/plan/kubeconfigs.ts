import { absoluteFrom, type World } from "../world/mod.ts";

type Surroundings = Pick<World, "process" | "places">;

/** The kubeconfigs that kubectl merges, in order: those of `KUBECONFIG`, else `~/.kube/config`. */
export function usualKubeconfigs(world: Surroundings): readonly [string, ...string[]] {
  const [first, ...more] = namedKubeconfigs(world);
  return first === undefined ? [`${world.places.home}/.kube/config`] : [first, ...more];
}

/**
 * The kubeconfigs for an instance. Inside `postern shell` and similar commands, `KUBECONFIG` names a
 * temporary file whose clusters are reached through an instance, so an instance ignores it.
 */
export function instanceKubeconfigs(world: Surroundings): readonly [string, ...string[]] {
  return isOfProgram(world) ? [`${world.places.home}/.kube/config`] : usualKubeconfigs(world);
}

/**
 * `KUBECONFIG` with absolute paths, for an instance that outlives the shell that starts it; undefined when
 * the instance reads `~/.kube/config`.
 */
export function keptKubeconfigs(world: Surroundings): string | undefined {
  const named = isOfProgram(world) ? [] : namedKubeconfigs(world);
  return named.length === 0 ? undefined : named.join(separatorOf(world));
}

/**
 * The file of `usualKubeconfigs` for a new entry, and the files that are read after it. As in kubectl: the
 * first file that exists, else the last one.
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

/** The files of `KUBECONFIG` with absolute paths; relative paths start at the working directory. */
export function namedKubeconfigs(world: Surroundings): readonly string[] {
  const { process } = world;
  const named = (process.env("KUBECONFIG") ?? "").split(separatorOf(world)).filter((path) => path !== "");
  return [...new Set(named.map((path) => absoluteFrom(process.directory, path)))];
}

function separatorOf({ process }: Surroundings): string {
  return process.platform === "windows" ? ";" : ":";
}

/** Whether `environment()` of `ClusterPrograms` set the variables: it sets both together. */
function isOfProgram({ process }: Surroundings): boolean {
  return Boolean(process.env("POSTERN_CLUSTER"));
}

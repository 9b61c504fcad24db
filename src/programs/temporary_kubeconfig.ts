import type { Kubeconfig } from "../kube/mod.ts";
import type { World } from "../world/mod.ts";

type Surroundings = Pick<World, "files" | "places" | "clock">;

/** How long a file is kept on systems that do not remove it at log-out, in ms. */
const keptFor = 7 * 24 * 60 * 60_000;

/**
 * Writes a private kubeconfig into the runtime directory, which the system removes at log-out. Without a runtime directory, postern removes it after a week.
 */
export async function temporaryKubeconfig(
  world: Surroundings,
  name: string,
  kubeconfig: Kubeconfig,
): Promise<string> {
  const { files, places } = world;
  const { writtenKubeconfig } = await import("../kube/mod.ts");
  const directory = `${places.runtime}/kubeconfigs`;
  await files.privateDirectory(places.runtime);
  await files.privateDirectory(directory);
  if (places.formerRuntime !== undefined) await removeOld(world, directory);
  const path = `${directory}/${fileName(name)}-${crypto.randomUUID().slice(0, 8)}.kubeconfig`;
  await files.replace(path, await writtenKubeconfig(kubeconfig));
  return path;
}

/**
 * Removes old files, except those of instances, whose names contain a dot there; each instance removes its
 * own.
 */
async function removeOld({ files, clock }: Surroundings, directory: string): Promise<void> {
  const before = clock.date().getTime() - keptFor;
  for (const name of await files.list(directory)) {
    const path = `${directory}/${name}`;
    if (!/-[0-9a-f]{8}\.kubeconfig$/.test(name)) continue;
    if (((await files.info(path))?.modified ?? before) < before) await files.remove(path);
  }
}

/** A cluster's name as a file name; the name may begin with its catalogue. */
export function fileName(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9._-]/g, "-").slice(0, 100);
}

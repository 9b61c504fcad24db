import type { Kubeconfig } from "../kube/mod.ts";
import type { World } from "../world/mod.ts";

type Surroundings = Pick<World, "files" | "places" | "clock">;

/** How long one is kept where no log-out takes it away, in ms. */
const keptFor = 7 * 24 * 60 * 60_000;

/** Writes a kubeconfig for its owner only, that is there until log-out, or for a week where the system has no such place. */
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

/** Those of instances, which have a dot there, are removed by their instance. */
async function removeOld({ files, clock }: Surroundings, directory: string): Promise<void> {
  const before = clock.date().getTime() - keptFor;
  for (const name of await files.list(directory)) {
    const path = `${directory}/${name}`;
    if (!/-[0-9a-f]{8}\.kubeconfig$/.test(name)) continue;
    if (((await files.info(path))?.modified ?? before) < before) await files.remove(path);
  }
}

/** The name of a cluster as the name of a file: its catalogue may stand in front. */
export function fileName(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9._-]/g, "-").slice(0, 100);
}

import type { Kubeconfig } from "../../clusters/mod.ts";
import type { World } from "../../core/mod.ts";

/** Writes a kubeconfig that is there until log-out, for its owner only. */
export async function temporaryKubeconfig(
  { files, places }: Pick<World, "files" | "places">,
  name: string,
  kubeconfig: Kubeconfig,
): Promise<string> {
  const { writtenKubeconfig } = await import("../../clusters/mod.ts");
  const directory = `${places.runtime}/kubeconfigs`;
  await files.privateDirectory(places.runtime);
  await files.privateDirectory(directory);
  const path = `${directory}/${fileName(name)}-${crypto.randomUUID().slice(0, 8)}.kubeconfig`;
  await files.replace(path, await writtenKubeconfig(kubeconfig));
  return path;
}

/** The name of a cluster as the name of a file: its catalogue may stand in front. */
export function fileName(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9._-]/g, "-").slice(0, 100);
}

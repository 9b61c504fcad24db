import { fileNameOf, type World } from "../../world/mod.ts";
import { checkedId } from "../../instances/mod.ts";

/** A kubeconfig is text; kubectl writes a few KiB per context. */
const mostBytes = 2_000_000;

type Places = Pick<World, "files" | "places">;

/**
 * Writes a kubeconfig from standard input to a private file of the instance with this id. The instance
 * removes the file when it stops. The next instance with the same id removes files that a killed instance
 * left.
 */
export async function keepKubeconfig(world: World, id: string): Promise<string> {
  const { files, places, terminal } = world;
  const file = `${checkedId(id)}.${crypto.randomUUID().slice(0, 8)}.kubeconfig`;
  const text = await terminal.readInput(mostBytes);
  await files.privateDirectory(places.runtime);
  await files.privateDirectory(directoryOf(world));
  const path = `${directoryOf(world)}/${file}`;
  await files.replace(path, text);
  return path;
}

/** Whether a kubeconfig is one of these files of the instance with this id. */
export function isTransient(world: Places, id: string, path: string): boolean {
  return path === `${directoryOf(world)}/${fileNameOf(path)}` && isOf(id, fileNameOf(path));
}

/**
 * Removes files left by killed instances with this id, except the one in use. Call it only while you hold the
 * id's lock.
 */
export async function removeLeftKubeconfigs(
  world: Places,
  id: string,
  { but }: { readonly but: string | undefined },
): Promise<void> {
  const directory = directoryOf(world);
  if (!await world.files.info(directory)) return;
  for (const name of await world.files.list(directory)) {
    const path = `${directory}/${name}`;
    if (isOf(id, name) && path !== but) await world.files.remove(path);
  }
}

function directoryOf({ places }: Pick<Places, "places">): string {
  return `${places.runtime}/kubeconfigs`;
}

function isOf(id: string, name: string): boolean {
  return name.startsWith(`${id}.`) && /^[0-9a-f]{8}\.kubeconfig$/.test(name.slice(id.length + 1));
}

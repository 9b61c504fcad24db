import { directoryOf, type Files, type World } from "../../world/mod.ts";
import { pause } from "../../core/mod.ts";
import { PosternError } from "../../words/mod.ts";
import { contextsBehind } from "./contexts_behind.ts";
import type { Kubeconfig } from "./kubeconfig.ts";
import { withKubeconfigLock } from "./kubeconfig_lock.ts";

/** The most bytes of a kubeconfig that is looked into. */
const longest = 16 * 1024 * 1024;

export interface KubeconfigFileOptions {
  /** Replaces what postern did not write. */
  readonly force: boolean;
}

/** A kubeconfig as YAML: the same one always gives the same text. */
export async function writtenKubeconfig(kubeconfig: Kubeconfig): Promise<string> {
  const { kubeconfigText } = await import("./kubeconfig_text.ts");
  return kubeconfigText(kubeconfig);
}

/**
 * Writes a kubeconfig, readable by its owner only, in the place of one that postern has written. A symbolic link there
 * is replaced and not followed.
 */
export async function writeKubeconfigFile(
  files: Files,
  path: string,
  kubeconfig: Kubeconfig,
  { force }: KubeconfigFileOptions,
): Promise<void> {
  const { kubeconfigMark, kubeconfigText } = await import("./kubeconfig_text.ts");
  const info = await files.info(path);
  if (info && info.kind !== "file") {
    throw new PosternError("config", `Cannot write "${path}": it is not a file`, {
      hint: "name a file, or one that is not there yet",
    });
  }
  if (info && !force && !await beginsWith(files, path, kubeconfigMark)) {
    throw new PosternError("not_allowed", `Cannot replace "${path}": postern did not write it`, {
      hint: "add --force to replace it, or --merge to add to it",
    });
  }
  await files.replace(path, kubeconfigText(kubeconfig));
}

export interface MergeKubeconfigOptions extends KubeconfigFileOptions {
  /** The kubeconfigs that kubectl reads behind this one. */
  readonly behind?: readonly string[];
  readonly signal: AbortSignal;
}

/** How often entries are put back that somebody has taken out at the same time. */
const mostRounds = 5;
/** How long kubectl may be between reading a file and locking it, in ms. */
const settling = 150;

/**
 * Adds a kubeconfig to one that may have been written by anybody; a symbolic link there stays one. It is changed under
 * kubectl's lock. A kubectl that has read the file before that and locks it after takes out what it has not seen, so
 * it is looked at once more.
 */
export async function mergeKubeconfigFile(
  { clock, files }: Pick<World, "clock" | "files">,
  path: string,
  kubeconfig: Kubeconfig,
  { force, behind = [], signal }: MergeKubeconfigOptions,
): Promise<void> {
  const { holdsKubeconfig, mergedKubeconfig } = await import("./kubeconfig_text.ts");
  const directory = directoryOf(path);
  if (directory !== path && !await files.info(directory)) await files.privateDirectory(directory);
  const real = await files.info(path) ? await files.real(path) : path;
  const hasCurrent = (await contextsBehind(files, behind)).current !== undefined;
  const read = async () => await files.readTextIfThere(real, { limit: longest }) ?? "";
  for (let round = 0; round < mostRounds; round++) {
    await withKubeconfigLock({ clock, files }, [path, real], { signal }, async () => {
      await files.replace(real, mergedKubeconfig(await read(), kubeconfig, { path, force, hasCurrent }));
    });
    await pause(clock, settling, { signal });
    if (holdsKubeconfig(await read(), kubeconfig)) return;
  }
  throw new PosternError("internal", `Cannot add to "${path}": another program takes it out each time`, {
    hint: "see which program changes it, and try again",
  });
}

async function beginsWith(files: Files, path: string, mark: string): Promise<boolean> {
  const begin = new TextEncoder().encode(`${mark}\n`);
  const found = await files.readFrom(path, 0, begin.length);
  return found.length === begin.length && found.every((byte, at) => byte === begin[at]);
}

import { directoryOf, type Files, type World } from "../../world/mod.ts";
import { pause } from "../../core/mod.ts";
import { PosternError } from "../../words/mod.ts";
import { contextsBehind } from "./contexts_behind.ts";
import type { Kubeconfig } from "./kubeconfig.ts";
import { withKubeconfigLock } from "./kubeconfig_lock.ts";

/** Maximum size of a kubeconfig in bytes. */
const longest = 16 * 1024 * 1024;

export interface KubeconfigFileOptions {
  /** Replaces files that postern did not write. */
  readonly force: boolean;
}

/** A kubeconfig as YAML; the text is deterministic. */
export async function writtenKubeconfig(kubeconfig: Kubeconfig): Promise<string> {
  const { kubeconfigText } = await import("./kubeconfig_text.ts");
  return kubeconfigText(kubeconfig);
}

/**
 * Writes a kubeconfig that only its owner can read, and replaces an existing one that postern wrote. Replaces
 * a symbolic link instead of following it.
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
    throw new PosternError("config", `Cannot write "${path}": it is not a regular file`, {
      hint: "name a regular file or a new path",
    });
  }
  if (info && !force && !await beginsWith(files, path, kubeconfigMark)) {
    throw new PosternError("not_allowed", `Cannot replace "${path}": postern did not write it`, {
      hint: "add --force to replace the file, or --merge to add to it",
    });
  }
  await files.replace(path, kubeconfigText(kubeconfig));
}

export interface MergeKubeconfigOptions extends KubeconfigFileOptions {
  /** The kubeconfigs that kubectl reads after this one. */
  readonly behind?: readonly string[];
  readonly signal: AbortSignal;
}

/** How many times to add the entries again if another program removed them. */
const mostRounds = 5;
/** How long kubectl may take between reading a file and locking it, in ms. */
const settling = 150;

/**
 * Merges a kubeconfig into an existing one, under kubectl's lock; a symbolic link stays. A kubectl that read
 * the file before and locks it after removes the new entries, so the file is checked again.
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
  throw new PosternError(
    "internal",
    `Cannot add to "${path}": another program removes the entries each time`,
    {
      hint: "find the program that changes the file, then try again",
    },
  );
}

async function beginsWith(files: Files, path: string, mark: string): Promise<boolean> {
  const begin = new TextEncoder().encode(`${mark}\n`);
  const found = await files.readFrom(path, 0, begin.length);
  return found.length === begin.length && found.every((byte, at) => byte === begin[at]);
}

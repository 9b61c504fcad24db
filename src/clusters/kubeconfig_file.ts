import { directoryOf, type Files, PosternError } from "../core/mod.ts";
import type { Kubeconfig } from "./kubeconfig.ts";

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
    throw new PosternError("config", `Cannot write "${path}": it is not a file`);
  }
  if (info && !force && !await beginsWith(files, path, kubeconfigMark)) {
    throw new PosternError("not_allowed", `Cannot replace "${path}": postern did not write it`, {
      hint: "add --force to replace it, or --merge to add to it",
    });
  }
  await files.replace(path, kubeconfigText(kubeconfig));
}

/** Adds a kubeconfig to one that may have been written by anybody; a symbolic link there stays one. */
export async function mergeKubeconfigFile(
  files: Files,
  path: string,
  kubeconfig: Kubeconfig,
  { force }: KubeconfigFileOptions,
): Promise<void> {
  const { mergedKubeconfig } = await import("./kubeconfig_text.ts");
  const directory = directoryOf(path);
  if (directory !== path && !await files.info(directory)) await files.privateDirectory(directory);
  const real = await files.info(path) ? await files.real(path) : path;
  const text = await files.readTextIfThere(real, { limit: longest }) ?? "";
  await files.replace(real, mergedKubeconfig(text, kubeconfig, { path, force }));
}

async function beginsWith(files: Files, path: string, mark: string): Promise<boolean> {
  const begin = new TextEncoder().encode(`${mark}\n`);
  const found = await files.readFrom(path, 0, begin.length);
  return found.length === begin.length && found.every((byte, at) => byte === begin[at]);
}

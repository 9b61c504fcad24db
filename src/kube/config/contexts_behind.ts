import type { Files } from "../../world/mod.ts";

/** The contexts of the kubeconfigs that kubectl reads after the first one. The first current context wins. */
export interface ContextsBehind {
  readonly names: ReadonlySet<string>;
  readonly current: string | undefined;
}

/** Maximum size of a kubeconfig in bytes. */
const longest = 16 * 1024 * 1024;

/** Reads the contexts of these files; skips missing ones. */
export async function contextsBehind(
  files: Pick<Files, "readTextIfThere">,
  paths: readonly string[],
): Promise<ContextsBehind> {
  const names = new Set<string>();
  let current: string | undefined;
  if (paths.length === 0) return { names, current };
  const { contextsIn } = await import("./kubeconfig_text.ts");
  for (const path of paths) {
    const found = contextsIn(await files.readTextIfThere(path, { limit: longest }) ?? "");
    for (const name of found.names) names.add(name);
    current ??= found.current;
  }
  return { names, current };
}

import { PosternError } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import { contextsBehind } from "./contexts_behind.ts";
import { withKubeconfigLock } from "./kubeconfig_lock.ts";

/** Maximum size of a kubeconfig in bytes. */
const longest = 16 * 1024 * 1024;

/**
 * Sets the current context in the first kubeconfig that kubectl reads, under its lock, and returns the former
 * one. Both contexts may be defined in any of the files.
 */
export async function makeCurrent(
  { clock, files }: Pick<World, "clock" | "files">,
  [path, ...behind]: readonly [string, ...string[]],
  context: string,
  { signal }: { signal: AbortSignal },
): Promise<string | undefined> {
  const { withCurrentContext } = await import("./kubeconfig_text.ts");
  if (!await files.info(path)) throw missing(path, context);
  const real = await files.real(path);
  const { names: others, current } = await contextsBehind(files, behind);
  return await withKubeconfigLock({ clock, files }, [path, real], { signal }, async () => {
    const text = await files.readText(real, { limit: longest });
    const changed = withCurrentContext(text, context, { path, others });
    if (!changed) throw missing(path, context);
    await files.replace(real, changed.text);
    return changed.former ?? current;
  });
}

function missing(path: string, context: string): PosternError {
  return new PosternError(
    "config",
    `Cannot use the context "${context.slice(0, 100)}": "${path}" has no such context`,
    {
      hint: "list the contexts: kubectl config get-contexts",
    },
  );
}

import { PosternError } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import { contextsBehind } from "./contexts_behind.ts";
import { withKubeconfigLock } from "./kubeconfig_lock.ts";

/** The most bytes of a kubeconfig that is looked into. */
const longest = 16 * 1024 * 1024;

/**
 * Makes another context the current one in the first of the kubeconfigs that kubectl reads, under its lock; the answer
 * is the former one. Either may be one of the files behind it.
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
  const { names: besides, current } = await contextsBehind(files, behind);
  return await withKubeconfigLock({ clock, files }, [path, real], { signal }, async () => {
    const text = await files.readText(real, { limit: longest });
    const changed = withCurrentContext(text, context, { path, besides });
    if (!changed) throw missing(path, context);
    await files.replace(real, changed.text);
    return changed.former ?? current;
  });
}

function missing(path: string, context: string): PosternError {
  return new PosternError(
    "config",
    `Cannot go to "${context.slice(0, 100)}": "${path}" has no such context`,
    {
      hint: "see which there are: kubectl config get-contexts",
    },
  );
}

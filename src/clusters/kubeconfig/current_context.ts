import { PosternError, type World } from "../../core/mod.ts";
import { withKubeconfigLock } from "./kubeconfig_lock.ts";

/** The most bytes of a kubeconfig that is looked into. */
const longest = 16 * 1024 * 1024;

/** Makes another context of a kubeconfig the current one, under kubectl's lock; the answer is the former one. */
export async function makeCurrent(
  { clock, files }: Pick<World, "clock" | "files">,
  path: string,
  context: string,
  { signal }: { signal: AbortSignal },
): Promise<string | undefined> {
  const { withCurrentContext } = await import("./kubeconfig_text.ts");
  if (!await files.info(path)) throw missing(path, context);
  const real = await files.real(path);
  return await withKubeconfigLock({ clock, files }, [path, real], { signal }, async () => {
    const changed = withCurrentContext(await files.readText(real, { limit: longest }), context, { path });
    if (!changed) throw missing(path, context);
    await files.replace(real, changed.text);
    return changed.former;
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

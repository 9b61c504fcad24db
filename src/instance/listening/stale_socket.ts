import type { Files, Network } from "../../world/mod.ts";
import { isPosternError } from "../../words/mod.ts";

/** Removes a socket that a dead process left; one that answers stays, and whatever is no socket. */
export async function removeStaleSocket(
  { network, files }: { readonly network: Network; readonly files: Pick<Files, "info" | "remove"> },
  path: string,
): Promise<void> {
  const found = await files.info(path);
  if (found?.kind !== "other") return;
  try {
    await using _conn = await network.connect({ path }, { signal: new AbortController().signal });
  } catch (error) {
    // Any other failure is told by the bind that follows.
    if (isPosternError(error, "refused")) await files.remove(path);
  }
}

import type { Files, Network } from "../../world/mod.ts";
import { isPosternError } from "../../words/mod.ts";

/** Removes the socket file of a dead process. Keeps a socket that answers and any other kind of file. */
export async function removeStaleSocket(
  { network, files }: { readonly network: Network; readonly files: Pick<Files, "info" | "remove"> },
  path: string,
): Promise<void> {
  const found = await files.info(path);
  if (found?.kind !== "other") return;
  try {
    await using _conn = await network.connect({ path }, { signal: new AbortController().signal });
  } catch (error) {
    // Binding reports any other failure.
    if (isPosternError(error, "refused")) await files.remove(path);
  }
}

import type { Conn } from "../../core/mod.ts";
import { PosternError } from "../../words/mod.ts";
import type { Network, World } from "../../world/mod.ts";

/**
 * Connects to a socket that only this user can open. Refuses the directory of our control sockets: a TCP forward
 * would let any local user control the instance.
 */
export async function connectToSocket(
  { network, files, places }: Pick<World, "files" | "places"> & {
    readonly network: Pick<Network, "connect">;
  },
  path: string,
  { signal }: { signal: AbortSignal },
): Promise<Conn> {
  if (!await files.owned(path, "socket")) {
    throw new PosternError("refused", `Cannot connect to "${path}": there is no such socket`, {
      hint: "start the program that listens on it",
    });
  }
  // A link or another spelling may lead to the directory.
  const real = await files.real(path);
  for (const directory of [places.runtime, places.formerRuntime]) {
    if (directory === undefined) continue;
    const own = await files.real(directory).catch(() => directory);
    if (!real.startsWith(`${own}/`)) continue;
    throw new PosternError(
      "not_allowed",
      `Cannot connect to "${path}": postern's control sockets are in that directory`,
      {
        hint: "forward to a socket in another directory",
      },
    );
  }
  return await network.connect({ path: real }, { signal });
}

import { silentLog } from "../../core/mod.ts";
import type { World } from "../../world/mod.ts";
import type { SshHost } from "../config/ssh_host.ts";
import { type ReadSshHost, resolveChain } from "../hops/ssh_chain.ts";
import { HostKeys } from "./host_keys.ts";

/** The first host on a path whose host key is not known, although its configuration would accept a new one. */
export async function unknownHost(
  alias: string,
  read: ReadSshHost,
  world: Pick<World, "clock" | "files">,
): Promise<SshHost | undefined> {
  const { clock, files } = world;
  const hostKeys = new HostKeys({ clock, files, log: silentLog });
  for (const host of await resolveChain(alias, read)) {
    // Every other host is checked when postern signs in to it.
    if (host.strictHostKeyChecking === "accept-new" && !await hostKeys.isKnown(host)) return host;
  }
  return undefined;
}

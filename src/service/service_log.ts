import type { World } from "../world/mod.ts";
import { serviceLabel, serviceLogFile } from "./launchd_plist.ts";
import { servicesName } from "./service_file.ts";
import { installedFiles, nameOf } from "./service_plan.ts";

/** The log of a user's service: a file, or a command that prints it. */
export type ServiceLog = { readonly path: string } | { readonly command: readonly string[] };

/** The log of the installed service; undefined without a service. */
export async function serviceLog(
  world: World,
  { isFollowed }: { readonly isFollowed: boolean },
): Promise<ServiceLog | undefined> {
  const { process: { platform }, places } = world;
  if (platform === "windows") return undefined;
  const unit = `${servicesName}.service`;
  const names = (await installedFiles(world)).map(nameOf);
  if (platform === "darwin") {
    return names.includes(serviceLabel) ? { path: serviceLogFile(places.home) } : undefined;
  }
  if (!names.includes(unit)) return undefined;
  // Prints bare lines, as in a log file; each has its own time.
  const follow = isFollowed ? ["--follow", "--lines=all"] : [];
  return { command: ["journalctl", "--user", `--unit=${unit}`, "--output=cat", "--no-pager", ...follow] };
}

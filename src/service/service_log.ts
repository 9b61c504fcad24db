import type { World } from "../world/mod.ts";
import { serviceLabel, serviceLogFile } from "./launchd_plist.ts";
import { servicesName } from "./service_file.ts";
import { installedFiles, nameOf } from "./service_plan.ts";

/** Where the log of a person's service is: in a file, or a program prints it. */
export type ServiceLog = { readonly path: string } | { readonly command: readonly string[] };

/** The log of the door that `service-install` has installed; none where it has not. */
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
  // As a file of ours would have it: the lines alone, each with its own time.
  const follow = isFollowed ? ["--follow", "--lines=all"] : [];
  return { command: ["journalctl", "--user", `--unit=${unit}`, "--output=cat", "--no-pager", ...follow] };
}

import { type Command, defineCommand } from "../line/command.ts";
import { install, installOptions } from "./service_actions.ts";

/** `postern service-install`, and kharon's spelling `postern install`. */
export const [serviceInstall, kharonInstall] = [installCommand("service-install"), installCommand("install")];

function installCommand(name: string): Command {
  return defineCommand({
    name,
    summary: "Install postern as a per-user service",
    ...(name === "install" && { replacement: "postern service install" }),
    description:
      "Writes systemd user units or a launchd agent and starts them. On Linux, the first connection starts the " +
      "instance, and postern stops when idle; --always keeps it running. postern lists the changes and asks before " +
      "it makes them. A second run writes only what differs. postern never replaces a file that it did not write.",
    examples: [
      [`postern ${name}`, "Start postern on demand"],
      [`postern ${name} --always`, "Start postern at login"],
      [`postern ${name} --print`, "Print the files"],
      [`postern --config work.yaml ${name} --yes`, "Install for another configuration, without confirmation"],
    ],
    parser: installOptions,
    run: install,
  });
}

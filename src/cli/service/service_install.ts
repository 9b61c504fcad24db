import { type Command, defineCommand } from "../line/command.ts";
import { install, installOptions } from "./service_actions.ts";

/** `postern service-install`, and kharon's name for it. */
export const [serviceInstall, kharonInstall] = [installCommand("service-install"), installCommand("install")];

function installCommand(name: string): Command {
  return defineCommand({
    name,
    summary: name === "install" ? "the same as service-install" : "makes a service of the door, yours alone",
    description:
      "Writes units for your own systemd, or an agent for launchd, and starts them. On Linux the first connection " +
      "starts the door and it ends when it is idle; --always keeps it running. It says what it writes and asks " +
      "first. Done again it changes only what is different, and a file that postern has not written is left alone.",
    examples: [
      [`postern ${name}`, "a door that comes when it is needed"],
      [`postern ${name} --always`, "a door from log-in on"],
      [`postern ${name} --print`, "shows the files"],
      [`postern --config work.yaml ${name} --yes`, "without asking, for another configuration"],
    ],
    parser: installOptions,
    run: install,
  });
}

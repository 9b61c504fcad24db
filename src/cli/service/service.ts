import { merge, object, or } from "@optique/core/constructs";
import { command, constant } from "@optique/core/primitives";
import { defineCommand } from "../line/command.ts";
import { words } from "../line/options.ts";
import {
  install,
  installOptions,
  status,
  statusOptions,
  uninstall,
  uninstallOptions,
} from "./service_actions.ts";

/** `postern service install|uninstall|status`. */
export default defineCommand({
  name: "service",
  summary: "installs, removes or shows the door as a service of yours",
  description:
    "install and uninstall are service-install and service-uninstall; status shows what is installed, and what the " +
    "service manager says of it.",
  examples: [
    ["postern service install", "the same as postern service-install"],
    ["postern service status", "what is installed, and whether it runs"],
    ["postern service uninstall", "the same as postern service-uninstall"],
  ],
  parser: or(
    command("install", merge(object({ action: constant("install") }), installOptions), {
      brief: words("Writes the files of the service, and starts it."),
      description: words("The same as service-install."),
    }),
    command("uninstall", merge(object({ action: constant("uninstall") }), uninstallOptions), {
      brief: words("Stops the service, and removes its files."),
      description: words("The same as service-uninstall."),
    }),
    command("status", merge(object({ action: constant("status") }), statusOptions), {
      brief: words("Shows what is installed, and whether it runs."),
      description: words("Shows what is installed, and what the service manager says of it."),
    }),
    { errors: { noMatch: words("Say what to do: install, uninstall or status.") } },
  ),
  async run(values, world, context) {
    if (values.action === "install") return await install(values, world, context);
    if (values.action === "uninstall") return await uninstall(values, world, context);
    return await status(values, world, context);
  },
});

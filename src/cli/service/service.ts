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

export default defineCommand({
  name: "service",
  summary: "Install, remove or show the per-user service",
  description:
    "install and uninstall are also available as service-install and service-uninstall. status shows the installed " +
    "units and their state in the service manager.",
  examples: [
    ["postern service install", "Install the service"],
    ["postern service status", "Show the installed units and their state"],
    ["postern service uninstall", "Remove the service"],
  ],
  parser: or(
    command("install", merge(object({ action: constant("install") }), installOptions), {
      brief: words("Write the files of the service and start it."),
      description: words("Same as service-install."),
    }),
    command("uninstall", merge(object({ action: constant("uninstall") }), uninstallOptions), {
      brief: words("Stop the service and remove its files."),
      description: words("Same as service-uninstall."),
    }),
    command("status", merge(object({ action: constant("status") }), statusOptions), {
      brief: words("Show the installed units and their state."),
      description: words("Shows the installed units and their state in the service manager."),
    }),
    { errors: { noMatch: words("Missing argument: install, uninstall or status.") } },
  ),
  async run(values, world, context) {
    if (values.action === "install") return await install(values, world, context);
    if (values.action === "uninstall") return await uninstall(values, world, context);
    return await status(values, world, context);
  },
});

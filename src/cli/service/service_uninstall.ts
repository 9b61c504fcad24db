import { defineCommand } from "../line/command.ts";
import { uninstall, uninstallOptions } from "./service_actions.ts";

export default defineCommand({
  name: "service-uninstall",
  summary: "Stop the service and remove its files",
  description: "Stops the units that service-install started, and removes only the files that it wrote.",
  examples: [["postern service-uninstall", "Remove the service after a confirmation"], [
    "postern service-uninstall --yes",
    "Remove without confirmation",
  ]],
  parser: uninstallOptions,
  run: uninstall,
});

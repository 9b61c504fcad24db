import { defineCommand } from "../line/command.ts";
import { uninstall, uninstallOptions } from "./service_actions.ts";

/** `postern service-uninstall`. */
export default defineCommand({
  name: "service-uninstall",
  summary: "stops the service and removes its files",
  description:
    "Stops what service-install has started, and removes the files that it has written, and no others.",
  examples: [["postern service-uninstall", "asks first"], [
    "postern service-uninstall --yes",
    "does not ask",
  ]],
  parser: uninstallOptions,
  run: uninstall,
});

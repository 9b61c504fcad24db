import { object } from "@optique/core/constructs";
import { defineCommand } from "../line/command.ts";
import { outputOption } from "../line/options.ts";
import { printValue } from "../output/print_value.ts";

export default defineCommand({
  name: "version",
  summary: "Print the version",
  description: "postern --version prints the same line. With -o json, postern also prints its platform.",
  examples: [["postern version -o json", "Print JSON for scripts"]],
  parser: object({ output: outputOption(["table", "json", "yaml"], "table") }),
  async run({ output }, world, { version }) {
    const { platform, arch, isCompiled } = world.process;
    if (output === "table") await world.terminal.out(`postern ${version}\n`);
    else await printValue(world, { version, platform, arch, isCompiled }, output);
  },
});

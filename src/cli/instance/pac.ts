import { object } from "@optique/core/constructs";
import { defineCommand } from "../line/command.ts";
import { fromInstanceOrFiles } from "./from_instance_or_files.ts";
import { instanceOption } from "../line/options.ts";

export default defineCommand({
  name: "pac",
  summary: "Print the PAC file for browsers",
  description:
    "The instance serves the same file at /proxy.pac and updates it at each reload; give browsers that address " +
    "instead of a copy.",
  examples: [["postern pac > proxy.pac", "Save a copy of the file"]],
  parser: object({ id: instanceOption() }),
  async run({ id = "default" }, world, context) {
    const text = await fromInstanceOrFiles(world, id, context, {
      instance: (client) => client.pac(context),
      files: ({ pacFromFiles }, sources) => pacFromFiles(world, sources),
    });
    world.process.keepOnly("nothing");
    await world.terminal.out(text);
  },
});

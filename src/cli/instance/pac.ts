import { object } from "@optique/core/constructs";
import { defineCommand } from "../line/command.ts";
import { fromInstanceOrFiles } from "./from_instance_or_files.ts";
import { instanceOption } from "../line/options.ts";

/** `postern pac`. */
export default defineCommand({
  name: "pac",
  summary: "prints the PAC file for browsers",
  description:
    "The same file is served by the door at /proxy.pac, where it follows the configuration; give browsers " +
    "that address rather than a copy.",
  examples: [["postern pac > proxy.pac", "a copy of the file"]],
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

import { object } from "@optique/core/constructs";
import { defineCommand } from "../line/command.ts";
import { instanceOption, outputOption } from "../line/options.ts";
import { printValue } from "../output/print_value.ts";
import { printableLines } from "../output/printable.ts";

export default defineCommand({
  name: "reload",
  summary: "Reload the configuration of a running instance",
  description:
    "An instance reloads when its configuration file changes; this command reloads it now and prints the changes. " +
    "If the configuration is invalid, the instance keeps the old one and the exit code is 4. Live connections stay " +
    "up in both cases.",
  examples: [["postern reload", "Reload now and print one line per change"]],
  parser: object({ id: instanceOption(), output: outputOption(["table", "json", "yaml"], "table") }),
  async run({ id = "default", output }, world, { signal }) {
    const { connectInstance } = await import("../../instances/mod.ts");
    const client = await connectInstance(world, id, { signal });
    const report = await client.reload({ signal });
    world.process.keepOnly("nothing");
    if (output !== "table") return await printValue(world, report, output);
    for (const warning of report.warnings) {
      await world.terminal.err(`${printableLines(warning)}\n`);
    }
    await world.terminal.out(report.changes.map((change) => `${printableLines(change)}\n`).join(""));
    if (!report.changed) await world.terminal.err("postern: no changes\n");
  },
});

import { object } from "@optique/core/constructs";
import { optional } from "@optique/core/modifiers";
import { argument, command } from "@optique/core/primitives";
import type { ConnectionInfo } from "../../control/mod.ts";
import { formatAge, formatBytes } from "../../core/mod.ts";
import { defineCommand } from "../line/command.ts";
import { instanceOption, outputOption, wholeNumber, words } from "../line/options.ts";
import { paintFor } from "../output/paint.ts";
import { printValue } from "../output/print_value.ts";
import { type Column, table } from "../output/table.ts";

const columns: readonly Column<ConnectionInfo>[] = [
  { title: "ID", show: ({ id }) => id, alignRight: true },
  { title: "CLIENT", show: ({ client, user }) => user === undefined ? client : `${user}@${client}` },
  { title: "AS", show: ({ protocol, forward = "" }) => `${protocol} ${forward}`.trimEnd() },
  { title: "TARGET", show: ({ target }) => target },
  { title: "TRANSPORT", show: ({ transport }) => transport },
  { title: "AGE", show: ({ ageMs }) => formatAge(ageMs), alignRight: true },
  { title: "UP", show: ({ up }) => formatBytes(up), alignRight: true },
  { title: "DOWN", show: ({ down }) => formatBytes(down), alignRight: true },
  { title: "BECAUSE", show: ({ because }) => because },
];

export default defineCommand({
  name: "connections",
  summary: "List live connections, or close one",
  description: "Each line shows a client, its target, the transport, and the rule that chose it.",
  examples: [
    ["postern connections", "List all live connections"],
    ["postern connections close 42", "Close connection 42 with a reset to its client"],
    ["postern connections -o json", "Print JSON for scripts"],
  ],
  parser: object({
    close: optional(command(
      "close",
      argument(wholeNumber({ metavar: "NUMBER", min: 1 }), {
        description: words("Number of the connection, from the ID column."),
      }),
      {
        brief: words("Close one connection."),
        description: words("Close one connection; its client sees a reset."),
      },
    )),
    id: instanceOption(),
    output: outputOption(["table", "json", "yaml"], "table"),
  }),
  async run({ close, id = "default", output }, world, { signal }) {
    const { connectInstance } = await import("../../instances/mod.ts");
    const client = await connectInstance(world, id, { signal });
    if (close !== undefined) {
      await client.closeConnection(close, { signal });
      return await world.terminal.err(`postern: closed connection ${close}\n`);
    }
    const connections = await client.connections({ signal });
    world.process.keepOnly("nothing");
    if (output !== "table") return await printValue(world, connections, output);
    if (connections.length === 0) return await world.terminal.err("postern: no live connections\n");
    await world.terminal.out(table(connections, columns, paintFor(world, "out").dim));
  },
});

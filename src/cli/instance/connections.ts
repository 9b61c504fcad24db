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
  { title: "AS", show: ({ protocol }) => protocol },
  { title: "TARGET", show: ({ target }) => target },
  { title: "TRANSPORT", show: ({ transport }) => transport },
  { title: "AGE", show: ({ ageMs }) => formatAge(ageMs), alignRight: true },
  { title: "UP", show: ({ up }) => formatBytes(up), alignRight: true },
  { title: "DOWN", show: ({ down }) => formatBytes(down), alignRight: true },
  { title: "BECAUSE", show: ({ because }) => because },
];

/** `postern connections`. */
export default defineCommand({
  name: "connections",
  summary: "lists the live connections of a door, or closes one",
  description:
    "Each line tells who is connected to what, through which transport, and which rule sent it there.",
  examples: [
    ["postern connections", "all live connections"],
    ["postern connections close 42", "ends number 42; its client sees a reset"],
    ["postern connections -o json", "for programs"],
  ],
  parser: object({
    close: optional(command(
      "close",
      argument(wholeNumber({ metavar: "NUMBER", min: 1 }), {
        description: words("The connection's number."),
      }),
      {
        brief: words("Closes one connection."),
        description: words("Closes one connection; its client sees a reset."),
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

import { object } from "@optique/core/constructs";
import { optional } from "@optique/core/modifiers";
import { option } from "@optique/core/primitives";
import { choice } from "@optique/core/valueparser";
import { PosternError } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import { defineCommand } from "../line/command.ts";
import { fromInstanceOrFiles } from "./from_instance_or_files.ts";
import { instanceOption, words } from "../line/options.ts";
import { printableLines } from "../output/printable.ts";

/** `postern env`. */
export default defineCommand({
  name: "env",
  summary: "prints the proxy variables that point programs at the door",
  description:
    "Lines for the shell to evaluate. Programs disagree on how they read these variables: what stays " +
    "ambiguous is told on stderr, and --for writes what one kind of program reads best.",
  examples: [
    ['eval "$(postern env)"', "in sh, bash and zsh"],
    ["postern env --shell fish | source", "in fish"],
    ["postern env --shell powershell | Out-String | Invoke-Expression", "in PowerShell"],
    ['eval "$(postern env --unset)"', "takes them away again"],
    ['eval "$(postern env --for java)"', "for programs on a Java machine"],
  ],
  parser: object({
    shell: optional(option("--shell", choice(["sh", "fish", "powershell", "json"], { metavar: "SHELL" }), {
      description: words("How to write them: sh, fish, powershell or json (default: as $SHELL says)."),
    })),
    client: optional(option("--for", choice(["go", "curl", "java", "python"], { metavar: "CLIENT" }), {
      description: words("For programs of one kind: go, curl, java or python."),
    })),
    unset: option("--unset", { description: words("Lines that take the variables away.") }),
    credentials: option("--with-credentials", {
      description: words("Puts the door's user and password into the addresses; refused on a terminal."),
    }),
    show: option("--show", { description: words("Allows --with-credentials on a terminal.") }),
    id: instanceOption(),
  }),
  async run({ shell, client, unset, credentials, show, id = "default" }, world, context) {
    const { renderEnvironment } = await import("../../instance/mod.ts");
    if (credentials && !show && world.terminal.isOutput) {
      throw new PosternError("usage", "Cannot show credentials on a terminal", {
        hint: "send them to a program, or add --show",
      });
    }
    const asked = client === undefined ? {} : { client };
    const environment = unset ? undefined : await fromInstanceOrFiles(world, id, context, {
      instance: (client) => client.env({ credentials, ...asked, signal: context.signal }),
      files: ({ environmentFromFiles }, sources) =>
        environmentFromFiles(world, sources, { credentials, ...asked }),
    });
    world.process.keepOnly("nothing");
    if (environment?.needsAuth && !credentials) {
      throw new PosternError(
        "auth",
        "Cannot write variables that work: the door asks for a user and a password",
        {
          hint: "add --with-credentials",
        },
      );
    }
    const { text, notes } = renderEnvironment(world, environment, {
      shell: shell ?? usualShell(world),
      client,
    });
    for (const note of notes) await world.terminal.err(`postern: note: ${printableLines(note)}\n`);
    await world.terminal.out(text);
  },
});

function usualShell({ process }: World): "sh" | "fish" | "powershell" {
  if (process.platform === "windows") return "powershell";
  return process.env("SHELL")?.endsWith("/fish") ? "fish" : "sh";
}

import { object } from "@optique/core/constructs";
import { optional } from "@optique/core/modifiers";
import { option } from "@optique/core/primitives";
import {} from "@optique/core/valueparser";
import { PosternError } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import { defineCommand } from "../line/command.ts";
import { fromInstanceOrFiles } from "./from_instance_or_files.ts";
import { instanceOption, oneOf, words } from "../line/options.ts";
import { printableLines } from "../output/printable.ts";

export default defineCommand({
  name: "env",
  summary: "Print proxy variables for your shell",
  description:
    "Prints lines for the shell to evaluate. Programs read these variables differently. postern reports on " +
    "stderr what it cannot express portably; --for writes the variables for one kind of program.",
  examples: [
    ['eval "$(postern env)"', "Set the variables in sh, bash and zsh"],
    ["postern env --shell fish | source", "Set them in fish"],
    ["postern env --shell powershell | Out-String | Invoke-Expression", "Set them in PowerShell"],
    ['eval "$(postern env --unset)"', "Unset them"],
    ['eval "$(postern env --for java)"', "Set the variables of Java programs"],
  ],
  parser: object({
    shell: optional(option("--shell", oneOf(["sh", "fish", "powershell", "json"], "SHELL"), {
      description: words("Syntax: sh, fish, powershell or json (default: the syntax of $SHELL)."),
    })),
    client: optional(option("--for", oneOf(["go", "curl", "java", "python"], "CLIENT"), {
      description: words("Write variables for one kind of program: go, curl, java or python."),
    })),
    unset: option("--unset", { description: words("Print lines that unset the variables.") }),
    credentials: option("--with-credentials", {
      description: words("Include the instance's user and password; a terminal also needs --show."),
    }),
    show: option("--show", { description: words("Allow --with-credentials when stdout is a terminal.") }),
    id: instanceOption(),
  }),
  async run({ shell, client, unset, credentials, show, id = "default" }, world, context) {
    const { renderEnvironment } = await import("../../instance/mod.ts");
    if (credentials && !show && world.terminal.isOutput) {
      throw new PosternError("usage", "Cannot print credentials to a terminal: missing option: --show", {
        hint: "pipe them to a program, or add --show",
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
        "Cannot print usable variables: the instance requires a user and a password",
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

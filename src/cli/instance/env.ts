import { object } from "@optique/core/constructs";
import { optional } from "@optique/core/modifiers";
import { option } from "@optique/core/primitives";
import { alternatives } from "../../config/mod.ts";
import { PosternError } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import { defineCommand } from "../line/command.ts";
import { fromInstanceOrFiles } from "./from_instance_or_files.ts";
import { instanceOption, oneOf, words } from "../line/options.ts";
import { programKinds, socksOption } from "./program_options.ts";
import { printableLines } from "../output/printable.ts";

export default defineCommand({
  name: "env",
  summary: "Print proxy variables for your shell",
  description:
    "Prints shell commands that set proxy variables. All tested programs understand the variables; postern reports " +
    "on stderr what they cannot express. Java, JDBC, git over ssh and docker need other settings: --for prints those " +
    "of one kind of program, and --for all those of every kind except docker. To run a single program, use postern run.",
  examples: [
    ['eval "$(postern env)"', "Set the variables in sh, bash and zsh"],
    ["postern env --shell fish | source", "Set them in fish"],
    ["postern env --shell powershell | Out-String | Invoke-Expression", "Set them in PowerShell"],
    ['eval "$(postern env --unset)"', "Unset them"],
    ['eval "$(postern env --for all)"', "Set the variables for Java and git over ssh as well"],
    ["postern env --for docker", "Print the proxies block of ~/.docker/config.json"],
  ],
  parser: object({
    shell: optional(option("--shell", oneOf(["sh", "fish", "powershell", "json"], "SHELL"), {
      description: words("Syntax: sh, fish, powershell or json (default: the syntax of $SHELL)."),
    })),
    programs: optional(option("--for", oneOf([...programKinds, "docker"], "PROGRAMS"), {
      description: words(
        `Print settings for one kind of program: ${alternatives([...programKinds, "docker"])} ` +
          "(default: all programs that read proxy variables).",
      ),
    })),
    socks: socksOption,
    unset: option("--unset", { description: words("Print lines that unset the variables.") }),
    credentials: option("--with-credentials", {
      description: words("Include the instance's user and password; a terminal also needs --show."),
    }),
    show: option("--show", { description: words("Allow --with-credentials when stdout is a terminal.") }),
    id: instanceOption(),
  }),
  async run({ shell, programs: asked, socks, unset, credentials, show, id }, world, context) {
    const { dockerProxies, environmentsOf, renderEnvironment } = await import("../../instance/mod.ts");
    if (credentials && !show && world.terminal.isOutput) {
      throw new PosternError("usage", "Cannot print credentials to a terminal: missing option: --show", {
        hint: "pipe them to a program, or add --show",
      });
    }
    if (asked === "docker" && (unset || (shell ?? "json") !== "json")) {
      throw new PosternError(
        "usage",
        "Cannot print docker's settings as shell commands: docker reads a file",
        {
          hint: "print the block for the file: postern env --for docker",
        },
      );
    }
    const { config } = context.globals;
    const programs = asked === "docker" ? undefined : asked;
    const environment = unset ? undefined : await fromInstanceOrFiles(world, id ?? "default", context, {
      instance: (instance) =>
        environmentsOf(
          programs,
          (client) => instance.env({ credentials, ...(client && { client }), signal: context.signal }),
        ),
      files: ({ environmentFromFiles }, sources) =>
        environmentsOf(
          programs,
          (client) => environmentFromFiles(world, sources, { credentials, ...(client && { client }) }),
        ),
    });
    world.process.keepOnly("nothing");
    // `postern nc` needs no password of a listener.
    if (environment?.portable.needsAuth && !credentials && programs !== "ssh") {
      throw new PosternError(
        "auth",
        "Cannot print usable variables: the instance requires a user and a password",
        {
          hint: "add --with-credentials",
        },
      );
    }
    const { text, notes } = environment && asked === "docker"
      ? dockerProxies(environment.portable)
      : renderEnvironment(world, environment, {
        shell: shell ?? usualShell(world),
        programs,
        socks,
        id,
        config,
      });
    for (const note of notes) await world.terminal.err(`postern: note: ${printableLines(note)}\n`);
    await world.terminal.out(text);
  },
});

function usualShell({ process }: World): "sh" | "fish" | "powershell" {
  if (process.platform === "windows") return "powershell";
  return process.env("SHELL")?.endsWith("/fish") ? "fish" : "sh";
}

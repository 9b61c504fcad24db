import { commandGrants, type Grant, permissionKinds } from "../src/permissions/command_grants.ts";
import { readCommandLine } from "../src/permissions/command_line.ts";
import { compiledFlags } from "../src/permissions/flags.ts";
import { kindsFor } from "../src/permissions/needs.ts";
import { madeOf, table } from "./reference_page.ts";

/** What the words in braces stand for. */
const places = [
  ["`{config}`", "the configuration directory: `postern` in `$XDG_CONFIG_HOME`, else in `~/.config`"],
  ["`{state}`", "the state directory, with the logs of doors in the background"],
  ["`{cache}`", "the cache directory"],
  [
    "`{runtime}`",
    "the directory of control sockets and locks: `postern` in `$XDG_RUNTIME_DIR`, else `run` in the state directory",
  ],
  ["`{control}`", "the control sockets of the doors that run, each by its path"],
  ["`{ssh}`", "`~/.ssh`, where host keys are written down that the ssh configuration lets us accept"],
  ["`{shell}`", "`/bin/sh` and what `$SHELL` names: they run `Match exec` and ProxyCommand"],
  ["`{askpass}`", "what `$SSH_ASKPASS` names"],
  ["`{agent}`", "the socket that `$SSH_AUTH_SOCK` names"],
  [
    "`{browser}`",
    "what `$POSTERN_BROWSER`, `$KHARON_BROWSER` or `$BROWSER` names, else the platform's opener",
  ],
  ["`{kube}`", "`~/.kube`, and the directories of the files that `$KUBECONFIG` names"],
  ["`{serviceLogs}`", "on macOS `~/Library/Logs`; elsewhere nothing"],
  ["`{services}`", "`systemd` in `$XDG_CONFIG_HOME` or `~/.config`; on macOS `~/Library/LaunchAgents`"],
  ["`{self}`", "the program itself, to start a door in the background"],
];

/** The page on permissions: what each command may do, from source and compiled. */
export function permissionsPage(): string {
  const rows = Object.entries(commandGrants).map(([command, grants]) => [
    `\`${command}\``,
    ...permissionKinds.map((kind) => kind === "env" ? counted(grants[kind]) : shown(grants[kind])),
  ]);
  const given = Object.keys(commandGrants).map((command) => [
    `\`${command}\``,
    kindsFor(readCommandLine([command, "--background"]), { usesSsh: true }).filter((kind) => kind !== "env")
      .map((kind) => `\`${kind}\``).join(" "),
  ]);
  return [
    madeOf("src/permissions/command_grants.ts"),
    "# Permissions",
    "Deno stops a program at anything that it was not started with the permission for. postern never asks for more\n" +
    "at run time, never loads native code, and reads nothing of `/proc`; of `/dev` it opens `/dev/null` only.",
    "## From source",
    "`deno task postern COMMAND` starts each command with exactly this:",
    table(["command", ...permissionKinds], rows),
    '- "any" is not narrowed: a door connects to whatever its routes name, and the configuration may name files\n' +
    "  anywhere.\n" +
    "- Options that name a file to be written (`--ready-file`, `--log-file`, `--listen-unix`, `--file`, and\n" +
    "  `--config` of `config`) add the directory of that file, and nothing else.\n" +
    "- On Windows a door is controlled over `127.0.0.1` and not by a socket file.\n" +
    "- `env` counts the environment variables that the command may read; `src/permissions/command_grants.ts` names\n" +
    "  them.\n" +
    "- `--allow-run=PROGRAM` before the command adds a program, such as a credential plugin that is not in the\n" +
    "  table: `deno task postern --allow-run=our-login proxy`. An instance in the background and a service get it\n" +
    "  too.",
    "The words in braces:",
    table(["word", "stands for"], places),
    "## What is given up",
    "A permission that was given up never comes back to a running process.",
    "1. **Before anything foreign is loaded**, from source and compiled: postern copies the environment variables\n" +
    "   that it reads and gives up `env`, so that no package sees any. Programs that it starts still inherit the\n" +
    "   environment. It searches its arguments and the text of the configuration for `ssh`, `kubernetes`,\n" +
    "   `catalogues` and `dns`. Where it finds none of a kind, and no stored catalogue, it gives up what only that\n" +
    "   kind needs.\n" +
    "2. **Once an instance has read its configuration** it gives up what the text only seemed to need; once it has\n" +
    "   read the kubeconfigs, the sign-in programs that none of them names; once it has repaired what a killed\n" +
    "   instance left, the files of the resolver.\n" +
    "3. **Once `status`, `connections`, `explain`, `env`, `pac` and `reload` have their answer**, they give up\n" +
    "   everything and then print it.",
    "What an instance keeps, besides the network, reading files, and its own directories:",
    table(["the configuration has", "run", "write", "compiled"], [
      ["neither ssh, clusters, catalogues nor a unix socket", "–", "–", "the same"],
      ["the same and a unix socket", "–", "–", "no program; writes anywhere"],
      ["a cluster without a sign-in program", "–", "–", "no program; writes anywhere"],
      ["a cluster with a sign-in program", "that program", "–", "any program; writes anywhere"],
      [
        "ssh, or a catalogue",
        "`{shell}` `ssh` `{askpass}`",
        "`{ssh}` `{agent}`",
        "any program; writes anywhere",
      ],
    ]),
    "A reload or a catalogue that needs more is refused with the hint `restart the instance`. The configuration\n" +
    "before it stays in force, and `postern status` shows the problem.",
    "## Compiled",
    "The places are not known when the program is compiled, so it has the union of all commands, without lists.\n" +
    "Deno takes away a name from a list, but nothing from a grant without one. So the compiled program gives up\n" +
    "whole kinds. An instance that starts no program and whose configuration names no unix socket runs in a worker,\n" +
    "which has the lists of a run from source: [why, and what it costs](../decisions/permissions.md).",
    "These kinds remain, `run` only where the configuration may name an ssh host or a cluster, for a browser to\n" +
    "sign in with, and for an instance that goes into the background:",
    table(["command", "kinds"], given),
    "It is compiled with:",
    `\`\`\`text\n${
      compiledFlags().map((flag) => flag.replaceAll(",", ", ")).flatMap(wrapped).join("\n")
    }\n\`\`\``,
  ].join("\n\n") + "\n";
}

function shown(grant: Grant | undefined): string {
  if (grant === undefined) return "–";
  return grant === "any" ? "any" : grant.map((name) => `\`${name}\``).join(" ");
}

function counted(grant: Grant | undefined): string {
  return grant === undefined || grant === "any" ? shown(grant) : `${grant.length} names`;
}

/** A long flag over several lines. */
function wrapped(flag: string): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of flag.split(" ")) {
    if (line !== "" && line.length + word.length > 98) {
      lines.push(line);
      line = " ";
    }
    line += line === "" ? word : ` ${word}`;
  }
  return [...lines, line];
}

import { commandGrants, type Grant, permissionKinds } from "../src/permissions/command_grants.ts";
import { readCommandLine } from "../src/permissions/command_line.ts";
import { compiledFlags } from "../src/permissions/flags.ts";
import { kindsFor } from "../src/permissions/needs.ts";
import { madeOf, paragraph, table } from "./reference_page.ts";

/** The meaning of the words in braces. */
const places = [
  ["`{config}`", "the configuration directory: `postern` in `$XDG_CONFIG_HOME`, else in `~/.config`"],
  ["`{state}`", "the state directory, with the logs of instances in the background"],
  ["`{cache}`", "the cache directory"],
  [
    "`{runtime}`",
    "the directory of control sockets and locks: `postern` in `$XDG_RUNTIME_DIR`, else `run` in the " +
    "state directory",
  ],
  ["`{control}`", "the control socket of each running instance"],
  ["`{ssh}`", "`~/.ssh`, for new host keys that the ssh configuration accepts"],
  ["`{shell}`", "`/bin/sh` and the shell in `$SHELL`, for `Match exec` and `ProxyCommand`"],
  ["`{askpass}`", "the program in `$SSH_ASKPASS`"],
  ["`{agent}`", "the socket in `$SSH_AUTH_SOCK`"],
  [
    "`{browser}`",
    "the program in `$POSTERN_BROWSER`, `$KHARON_BROWSER` or `$BROWSER`, else the platform's opener",
  ],
  ["`{kube}`", "`~/.kube`, and the directories of the files in `$KUBECONFIG`"],
  ["`{serviceLogs}`", "`~/Library/Logs` on macOS, nothing elsewhere"],
  ["`{services}`", "`systemd` in `$XDG_CONFIG_HOME` or `~/.config`; on macOS `~/Library/LaunchAgents`"],
  ["`{self}`", "postern itself, to start an instance in the background"],
];

/** The page on permissions: what each command may do, from source and compiled. */
export function permissionsPage(): string {
  const rows = grouped(
    Object.entries(commandGrants).map(([command, grants]) => [
      command,
      permissionKinds.map((kind) => kind === "env" ? counted(grants[kind]) : shown(grants[kind])),
    ]),
  );
  const given = grouped(
    Object.keys(commandGrants).map((command) => [
      command,
      [
        kindsFor(readCommandLine([command, "--background"]), { usesSsh: true }).filter((kind) =>
          kind !== "env"
        )
          .map((kind) => `\`${kind}\``).join(" ") || "–",
      ],
    ]),
  );
  return [
    madeOf("src/permissions/command_grants.ts"),
    "# Permissions",
    paragraph(
      "Deno stops a program that does something without the permission for it. Each command of postern " +
        "starts with the permissions below and drops what it does not need. postern never asks for more at " +
        "run time, never loads native code, reads nothing in `/proc`, and opens only `/dev/null` in " +
        "`/dev`.",
    ),
    "## From source",
    "`deno task postern COMMAND` starts each command with exactly these permissions:",
    table(["commands", ...permissionKinds], rows),
    [
      '- "any" is unrestricted: an instance connects wherever its routes lead, and the configuration can ' +
      "name any file.",
      "- Options that name an output file (`--ready-file`, `--log-file`, `--listen-unix`, `--file`, and " +
      "`--config` of `config`) add the directory of that file.",
      "- On Windows, commands control an instance through `127.0.0.1` instead of a socket file.",
      "- `env` is the number of environment variables that the command can read; " +
      "`src/permissions/command_grants.ts` lists them.",
      "- `--allow-run=PROGRAM` before the command adds a program, such as a credential plugin that is " +
      "not in the table: `deno task postern --allow-run=our-login proxy`. It also applies to an instance " +
      "in the background and to a service.",
    ].map((item) => paragraph(item, "  ")).join("\n"),
    "The words in braces:",
    table(["word", "meaning"], places),
    "## When postern drops permissions",
    "A process cannot regain a permission that it dropped.",
    [
      "1. **Before it loads a package**, postern copies the environment variables that it reads and " +
      "drops `env`. No package sees any variable; programs that postern starts still inherit them. " +
      "postern then searches its arguments and the text of the configuration for `ssh`, `kubernetes`, " +
      "`catalogues` and `dns`. For a word that it does not find, and without a stored catalogue, it " +
      "drops the permissions that only this feature needs.",
      "2. **After an instance has read its configuration**, it drops what only the text suggested. After " +
      "it has read the kubeconfigs, it drops sign-in programs that none of them names. After it has " +
      "repaired the files of the resolver that a killed instance left, it drops access to them.",
      "3. **When `status`, `connections`, `explain`, `env`, `pac` and `reload` have their answer**, they " +
      "drop everything and then print the answer.",
    ].map((item) => paragraph(item, "   ")).join("\n"),
    "An instance keeps the network, reading files, its own directories, and:",
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
    paragraph(
      "An instance rejects a reload or a catalogue that needs more, with the hint `restart the " +
        "instance`. It keeps its previous configuration, and `postern status` shows the problem.",
    ),
    "## Compiled",
    paragraph(
      "At compile time the paths are unknown, so the program has the permissions of all commands, " +
        "without lists. Deno can remove an entry from a list, but cannot narrow a permission without a " +
        "list. Therefore the compiled program drops whole kinds of permissions. An instance that starts no " +
        "program and has no unix socket runs in a worker with the lists of a run from source: [why, and " +
        "what it costs](../decisions/permissions.md).",
    ),
    paragraph(
      "The following kinds remain. `run` remains only for three purposes: the configuration may name an " +
        "ssh host or a cluster, a sign-in opens a browser, or an instance starts in the background.",
    ),
    table(["commands", "kinds"], given),
    "The program is compiled with:",
    `\`\`\`text\n${
      compiledFlags().map((flag) => flag.replaceAll(",", ", ")).flatMap(wrapped).join("\n")
    }\n\`\`\``,
  ].join("\n\n") + "\n";
}

/** Rows with the same cells become one row, with their commands in its first cell. */
function grouped(rows: readonly (readonly [string, readonly string[]])[]): string[][] {
  const groups = new Map<string, { commands: string[]; cells: readonly string[] }>();
  for (const [command, cells] of rows) {
    const key = cells.join("|");
    const group = groups.get(key) ?? { commands: [], cells };
    groups.set(key, group);
    group.commands.push(`\`${command}\``);
  }
  return [...groups.values()].map(({ commands, cells }) => [commands.join(", "), ...cells]);
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

import { commandGrants, type Grant, permissionKinds } from "../src/permissions/command_grants.ts";
import { readCommandLine } from "../src/permissions/command_line.ts";
import { compiledFlags } from "../src/permissions/flags.ts";
import { kindsFor } from "../src/permissions/needs.ts";
import { madeOf, table } from "./reference_page.ts";

/** The meaning of the words in braces. */
const places = [
  ["`{config}`", "the configuration directory: `postern` in `$XDG_CONFIG_HOME`, else in `~/.config`"],
  ["`{state}`", "the state directory, with the logs of background instances"],
  ["`{cache}`", "the cache directory"],
  [
    "`{runtime}`",
    "the directory of control sockets and locks: `postern` in `$XDG_RUNTIME_DIR`, else `run` in the state directory",
  ],
  ["`{control}`", "the control sockets of the running instances, each by its path"],
  ["`{ssh}`", "`~/.ssh`, where postern stores host keys that the ssh configuration accepts"],
  ["`{shell}`", "`/bin/sh` and the program in `$SHELL`, which run `Match exec` and ProxyCommand"],
  ["`{askpass}`", "the program in `$SSH_ASKPASS`"],
  ["`{agent}`", "the socket in `$SSH_AUTH_SOCK`"],
  [
    "`{browser}`",
    "the program in `$POSTERN_BROWSER`, `$KHARON_BROWSER` or `$BROWSER`, else the platform's opener",
  ],
  ["`{kube}`", "`~/.kube`, and the directories of the files in `$KUBECONFIG`"],
  ["`{serviceLogs}`", "on macOS `~/Library/Logs`; elsewhere nothing"],
  ["`{services}`", "`systemd` in `$XDG_CONFIG_HOME` or `~/.config`; on macOS `~/Library/LaunchAgents`"],
  ["`{self}`", "the program itself, to start a background instance"],
];

/** The page on permissions: the permissions of each command, from source and compiled. */
export function permissionsPage(): string {
  const rows = grouped(
    Object.entries(commandGrants).map(([command, grants]) => [
      command,
      permissionKinds.map((kind) => kind === "env" ? counted(grants[kind]) : shown(grants[kind])),
    ]),
  );
  const given = grouped(
    Object.keys(commandGrants).map((command) => {
      const kinds = kindsFor(readCommandLine([command, "--background"]), { usesSsh: true });
      return [command, [
        kinds.filter((kind) => kind !== "env").map((kind) => `\`${kind}\``).join(" ") || "–",
      ]];
    }),
  );
  return [
    madeOf("src/permissions/command_grants.ts"),
    "# Permissions",
    "Deno blocks every operation that a program has no permission for. postern never requests more permissions at\n" +
    "run time, never loads native code, never reads `/proc`, and opens only `/dev/null` in `/dev`.",
    "## From source",
    "`deno task postern COMMAND` starts each command with exactly these permissions:",
    table(["commands", ...permissionKinds], rows),
    '- "any" has no limit: an instance connects to all targets of its routes, and the configuration may name files\n' +
    "  anywhere.\n" +
    "- Options that name an output file (`--ready-file`, `--log-file`, `--listen-unix`, `--file`, and `--config` of\n" +
    "  `config`) add only the directory of that file.\n" +
    "- On Windows, postern controls an instance over `127.0.0.1` instead of a socket file.\n" +
    "- `env` counts the environment variables that the command may read; `src/permissions/command_grants.ts` lists\n" +
    "  them.\n" +
    "- `--allow-run=PROGRAM` before the command adds a program, such as an exec plugin that is not in the table:\n" +
    "  `deno task postern --allow-run=our-login proxy`. Background instances and services also get it.",
    "The words in braces:",
    table(["word", "meaning"], places),
    "## Revoked permissions",
    "A running process never gets a revoked permission back.",
    "1. **Before it loads a package**, from source and compiled, postern copies the environment variables that it\n" +
    "   reads and revokes `env`, so that no package can read them. Programs that postern starts still inherit the\n" +
    "   environment. If no catalogue is stored, postern searches its arguments and the text of the configuration\n" +
    "   for `ssh`, `kubernetes`, `catalogues` and `dns`, and revokes the permissions that only a missing feature\n" +
    "   needs.\n" +
    "2. **After it has read its configuration**, an instance revokes the permissions of unused features. After it\n" +
    "   has read the kubeconfigs, it revokes the permissions of unused sign-in programs. After it has repaired the\n" +
    "   leftovers of a killed instance, it revokes the permissions for the resolver's files.\n" +
    "3. **Before they print their answer**, `status`, `connections`, `explain`, `env`, `pac` and `reload` revoke\n" +
    "   all permissions.",
    "An instance can always use the network, read files, and write to its directories. It also keeps:",
    table(["the configuration has", "run", "write", "compiled"], [
      ["no ssh host, cluster, catalogue or unix socket", "–", "–", "the same"],
      ["of these, only a unix socket", "–", "–", "no program; writes anywhere"],
      ["a cluster without a sign-in program", "–", "–", "no program; writes anywhere"],
      ["a cluster with a sign-in program", "that program", "–", "any program; writes anywhere"],
      [
        "ssh, or a catalogue",
        "`{shell}` `ssh` `{askpass}`",
        "`{ssh}` `{agent}`",
        "any program; writes anywhere",
      ],
    ]),
    "postern rejects a reload or a catalogue that needs more, with the hint `restart the instance`.\n" +
    "`postern status` shows the problem.",
    "## Compiled",
    "The directories are unknown when the program is compiled, so it has the permissions of all commands, without\n" +
    "lists. Deno cannot narrow a permission without a list, so the compiled program revokes whole kinds. An\n" +
    "instance that starts no program and has no unix socket in its configuration runs in a worker with the lists of\n" +
    "a run from source: [why, and what it costs](../decisions/permissions.md).",
    "These kinds remain. `run` remains only if the configuration may name an ssh host or a cluster, to open a\n" +
    "browser for a sign-in, and to start a background instance:",
    table(["commands", "kinds"], given),
    "The compile flags:",
    `\`\`\`text\n${
      compiledFlags().map((flag) => flag.replaceAll(",", ", ")).flatMap(wrapped).join("\n")
    }\n\`\`\``,
  ].join("\n\n") + "\n";
}

/** Merges rows with the same cells; the first cell lists their commands. */
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

/** Wraps a long flag. */
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

import { object } from "@optique/core/constructs";
import type { SshHosts } from "../../control/mod.ts";
import { absoluteFrom } from "../../world/mod.ts";
import { defineCommand } from "../line/command.ts";
import { instanceOption } from "../line/options.ts";
import { printable } from "../output/printable.ts";
import { fromInstanceOrFiles } from "./from_instance_or_files.ts";
import { demandOneSource } from "./nc_target.ts";

export default defineCommand({
  name: "ssh-config",
  summary: "Print an ssh configuration for the routed hosts",
  description:
    "Prints a Host block for each rule that does not connect directly, with postern nc as ProxyCommand. ssh, scp, " +
    "rsync and git then reach these hosts by name. Store the output in a file and include it at the start of " +
    "~/.ssh/config. When postern itself reads that configuration, it ignores this ProxyCommand. Rules that ssh " +
    "patterns cannot express are reported on stderr and in comments.",
  examples: [
    [
      "postern ssh-config > ~/.ssh/postern.conf",
      "Store the blocks; then add to ~/.ssh/config: Include postern.conf",
    ],
    ["postern ssh-config --id lab", "Print the blocks for another instance"],
  ],
  parser: object({
    id: instanceOption("Instance to use; the blocks then require it (default: default)."),
  }),
  async run({ id }, world, context) {
    const { signal, globals: { config } } = context;
    demandOneSource({ id, config });
    const hosts = await fromInstanceOrFiles(world, id ?? "default", context, {
      instance: (client) => client.sshHosts({ signal }),
      files: ({ sshHostsFromFiles }, sources) => sshHostsFromFiles(world, sources),
    });
    world.process.keepOnly("nothing");
    for (const { rule, why } of hosts.left) {
      await world.terminal.err(`postern: no ssh pattern for ${printable(rule)}: ${printable(why)}\n`);
    }
    if (hosts.routed.length === 0) {
      await world.terminal.err("postern: no routed host to print\n");
    }
    const { self, platform, directory } = world.process;
    const command = [
      ...[...self, "nc"],
      ...config === undefined ? [] : ["--config", absoluteFrom(directory, config)],
      ...id === undefined ? [] : ["--id", id],
    ];
    await world.terminal.out(sshConfigText(hosts, command.map((word) => quoted(word, platform)).join(" ")));
  },
});

/** The text of an ssh configuration; `command` is the start of the ProxyCommand. */
export function sshConfigText({ routed, left }: SshHosts, command: string): string {
  return [
    "# The hosts that postern routes, from: postern ssh-config\n" +
    "# Include this file at the start of ~/.ssh/config.\n",
    ...left.map(({ rule, why }) => `# No pattern for ${printable(rule)}: ${printable(why)}\n`),
    ...routed.map(({ patterns, transport, because }) =>
      `\n# ${printable(because)}: transport ${printable(transport)}\n` +
      `Host ${patterns.join(" ")}\n` +
      `  ProxyCommand ${command} %h %p\n`
    ),
  ].join("");
}

/** A word for ProxyCommand: ssh replaces tokens that begin with %, then a shell reads the line. */
function quoted(word: string, platform: string): string {
  const text = word.replaceAll("%", "%%");
  if (/^[\w@%+=:,./-]+$/.test(text)) return text;
  return platform === "windows" ? `"${text}"` : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

import { object } from "@optique/core/constructs";
import { multiple } from "@optique/core/modifiers";
import { argument, option } from "@optique/core/primitives";
import { string } from "@optique/core/valueparser";
import type { HostsInfo } from "../../control/mod.ts";
import { counted } from "../../core/mod.ts";
import { PosternError } from "../../words/mod.ts";
import { defineCommand } from "../line/command.ts";
import { instanceOption, outputOption, words } from "../line/options.ts";
import { printable } from "../output/printable.ts";
import { printValue } from "../output/print_value.ts";

export default defineCommand({
  name: "hosts",
  summary: "Print names and their addresses as a hosts file",
  description:
    "Prints a block for /etc/hosts, for machines whose resolver cannot send single domains to postern. Requires " +
    "dns.loopback. The instance listens for the printed names, even after a restart, until you print other names or " +
    "release them. Without NAME, prints every Service, every rule for a single name, and every name that a client " +
    "looked up.",
  examples: [
    ["postern hosts db.shop.svc cache.shop.svc", "Print two names and listen for them"],
    ["postern hosts | sudo tee -a /etc/hosts", "Add all known names to the hosts file"],
    ["postern hosts --release", "Stop listening for printed names"],
  ],
  parser: object({
    names: multiple(argument(string({ metavar: "NAME" }), {
      description: words("Name to print (default: all known names)."),
    })),
    release: option("--release", {
      description: words("Print nothing, and close the listeners when they are idle."),
    }),
    id: instanceOption(),
    output: outputOption(["hosts", "json", "yaml"], "hosts"),
  }),
  async run({ names, release, id = "default", output }, world, { signal }) {
    if (release && names.length > 0) {
      throw new PosternError("usage", "Cannot release single names: --release takes no NAME", {
        hint: "print the names to keep: postern hosts NAME…",
      });
    }
    const { connectInstance } = await import("../../instances/mod.ts");
    const client = await connectInstance(world, id, { signal });
    const plain = names.map((name) => name.toLowerCase().replace(/\.$/, ""));
    const info = await client.hosts(release ? "none" : plain, { signal });
    world.process.keepOnly("nothing");
    for (const { name, reason } of info.problems) {
      await world.terminal.err(`postern: left out ${printable(name)}: ${printable(reason)}\n`);
    }
    if (release) return await world.terminal.err("postern: released the printed names\n");
    if (output !== "hosts") return await printValue(world, info, output);
    await world.terminal.out(await hostsText(info, { id, platform: world.process.platform }));
    await world.terminal.err(
      `postern: listening for ${counted(info.hosts.length, "name")}; any local user can connect\n`,
    );
  },
});

async function hostsText(
  { hosts }: HostsInfo,
  { id, platform }: { readonly id: string; readonly platform: "linux" | "darwin" | "windows" },
): Promise<string> {
  const { loopbackAliases } = await import("../../resolver/mod.ts");
  return [
    `# BEGIN postern hosts ${id}`,
    ...loopbackAliases(platform, hosts.map(({ address }) => address)).map((line) => `# run: ${line}`),
    ...hosts.map(({ address, name, ports }) => `${address} ${name} # ${ports.join(" ")}`),
    `# END postern hosts ${id}`,
    "",
  ].join("\n");
}

import { object } from "@optique/core/constructs";
import { multiple, optional } from "@optique/core/modifiers";
import { option } from "@optique/core/primitives";
import { string } from "@optique/core/valueparser";
import type { DnsDelegation, DnsSystem } from "../../resolver/mod.ts";
import { isPosternError, parseTarget, PosternError } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import { defineCommand, type RunContext } from "../line/command.ts";
import { tellDnsChange } from "./dns_change.ts";
import { fromInstanceOrFiles } from "../instance/from_instance_or_files.ts";
import { instanceOption, oneOf, words } from "../line/options.ts";

const systems: readonly DnsSystem[] = ["systemd-resolved", "macos", "nrpt"];

export default defineCommand({
  name: "dns",
  summary: "Make the system's resolver use postern's DNS server",
  description:
    "An instance with listen.dns answers DNS queries for the names of clusters and of dns.domains only. --print shows " +
    "the resolver settings for these domains, --apply writes them, and --undo removes them; the last two require " +
    "root. The domains and the address come from the running instance, or else from the configuration.",
  examples: [
    ["postern dns --print systemd-resolved", "Print the file for systemd-resolved"],
    [
      "sudo postern dns --apply --server 127.0.0.1:1053 --domain corp.example.net",
      "Send one domain to the DNS server at this address",
    ],
    ["sudo postern dns --undo", "Remove the settings"],
  ],
  parser: object({
    print: optional(option("--print", oneOf(systems, "SYSTEM"), {
      description: words(
        "Print the settings for systemd-resolved, macos or nrpt (Windows), without applying them.",
      ),
    })),
    apply: option("--apply", { description: words("Write the settings and reload the system's resolver.") }),
    undo: option("--undo", { description: words("Remove only what --apply wrote.") }),
    server: optional(option("--server", string({ metavar: "ADDR:PORT" }), {
      description: words("Address of the instance's DNS server (default: ask the instance)."),
    })),
    domains: multiple(option("--domain", string({ metavar: "DOMAIN" }), {
      description: words(
        "Domain to send to the DNS server; repeatable (default: all domains of the instance).",
      ),
    })),
    id: instanceOption(),
  }),
  async run({ print, apply, undo, server, domains, id = "default" }, world, context) {
    if ([print !== undefined, apply, undo].filter(Boolean).length !== 1) {
      throw new PosternError("usage", "Cannot set up DNS: use exactly one of --print, --apply and --undo", {
        hint: "look at the settings first: postern dns --print systemd-resolved",
      });
    }
    const { applyCommand, applyDns, undoDns } = await import("../../resolver/mod.ts");
    const { signal } = context;
    if (undo) {
      const change = await asRoot(() => undoDns(world, { signal }), "sudo postern dns --undo");
      return await tellDnsChange(world, change);
    }
    const delegation = await delegationOf({ server, domains, id }, world, context);
    if (print !== undefined) return await printFor(print, delegation, world, context);
    const change = await asRoot(() => applyDns(world, delegation, { signal }), applyCommand(delegation));
    await tellDnsChange(world, change);
  },
});

interface Asked {
  readonly server: string | undefined;
  readonly domains: readonly string[];
  readonly id: string;
}

async function delegationOf(
  { server, domains, id }: Asked,
  world: World,
  context: RunContext,
): Promise<DnsDelegation> {
  const { checkedDelegation } = await import("../../instance/mod.ts");
  const { isDnsDomain, isOwnServer } = await import("../../resolver/mod.ts");
  const named = domains.map((text) => domainOf(text, isDnsDomain));
  const address = server === undefined ? undefined : serverOf(server, isOwnServer);
  if (address && named.length > 0) return checkedDelegation({ server: address, domains: named });
  const { signal } = context;
  const found = await fromInstanceOrFiles(world, id, context, {
    instance: async (client) =>
      (await import("../../instance/mod.ts")).dnsDelegationOf(await client.status({ signal })),
    files: (app, sources) => app.dnsDelegationFromFiles(world, sources),
  });
  return checkedDelegation({
    server: address ?? found.server,
    domains: named.length > 0 ? named : found.domains,
  });
}

/** Checks a domain strictly: the name goes into system files. */
function domainOf(text: string, isDomain: (text: string) => boolean): string {
  const name = text.toLowerCase().replace(/^[~.]+|\.$/g, "");
  if (isDomain(name)) return name;
  throw new PosternError("usage", `Cannot use "${text.slice(0, 100)}" as a domain: invalid DNS name`, {
    hint: "use, for example, --domain corp.example.net",
  });
}

function serverOf(
  text: string,
  isOwn: (server: DnsDelegation["server"]) => boolean,
): DnsDelegation["server"] {
  const server = parseTarget(text, 53);
  if (isOwn(server)) return server;
  throw new PosternError(
    "usage",
    `Cannot use "${text.slice(0, 100)}" as the DNS server: not a loopback address`,
    { hint: "use, for example, --server 127.0.0.1:1053" },
  );
}

async function printFor(
  system: DnsSystem,
  delegation: DnsDelegation,
  world: World,
  { signal }: Pick<RunContext, "signal">,
): Promise<void> {
  const { dnsSystemFiles, nrptCommands, systemdVersion } = await import("../../resolver/mod.ts");
  if (system === "nrpt") {
    const { make, undo } = nrptCommands(delegation);
    await world.terminal.out(
      [...make, "# To undo:", ...undo.map((line) => `# ${line}`)].join("\n") + "\n",
    );
    return;
  }
  const version = system === "macos" ? 0 : await systemdVersion(world, signal);
  const files = dnsSystemFiles(system, delegation, { version });
  await world.terminal.out(files.map(({ path, content }) => `# ${path}\n${content}`).join("\n"));
}

/** Adds the command to run as root to a permission error. */
async function asRoot<T>(work: () => Promise<T>, command: string): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isPosternError(error, "not_allowed")) throw error;
    throw error.with({ hint: `run as root: ${command}` });
  }
}

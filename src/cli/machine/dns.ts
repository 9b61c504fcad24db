import { object } from "@optique/core/constructs";
import { multiple, optional } from "@optique/core/modifiers";
import { option } from "@optique/core/primitives";
import { choice, string } from "@optique/core/valueparser";
import type { DnsSystem, DnsWish } from "../../resolver/mod.ts";
import { isPosternError, parseTarget, PosternError } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import { defineCommand, type RunContext } from "../line/command.ts";
import { tellDnsChange } from "./dns_change.ts";
import { fromInstanceOrFiles } from "../instance/from_instance_or_files.ts";
import { instanceOption, words } from "../line/options.ts";

const systems: readonly DnsSystem[] = ["systemd-resolved", "macos", "nrpt"];

/** `postern dns`. */
export default defineCommand({
  name: "dns",
  summary: "has the system ask the door's DNS for the names that are its own",
  description:
    "A door with listen.dns answers DNS for the names of clusters and of dns.domains, and for no others. --print shows " +
    "what makes a system ask it for those, --apply writes that, and --undo takes it away again; both need to be root. " +
    "The domains and the address are those of the running door, else of the configuration.",
  examples: [
    ["postern dns --print systemd-resolved", "the file that systemd-resolved reads"],
    [
      "sudo postern dns --apply --server 127.0.0.1:1053 --domain corp.example.net",
      "no configuration is read",
    ],
    ["sudo postern dns --undo", "as it was before"],
  ],
  parser: object({
    print: optional(option("--print", choice(systems, { metavar: "SYSTEM" }), {
      description: words(
        "Prints what to write for systemd-resolved, macos or nrpt (Windows), and changes nothing.",
      ),
    })),
    apply: option("--apply", { description: words("Writes it, and has the system read it.") }),
    undo: option("--undo", { description: words("Removes what --apply wrote, and nothing else.") }),
    server: optional(option("--server", string({ metavar: "ADDR:PORT" }), {
      description: words("Where the door answers DNS, instead of asking it."),
    })),
    domains: multiple(option("--domain", string({ metavar: "DOMAIN" }), {
      description: words("A domain to ask it for, instead of all that are its own."),
    })),
    id: instanceOption(),
  }),
  async run({ print, apply, undo, server, domains, id = "default" }, world, context) {
    if ([print !== undefined, apply, undo].filter(Boolean).length !== 1) {
      throw new PosternError("usage", "Cannot tell what to do: name one of --print, --apply and --undo", {
        hint: "see first what would be written: postern dns --print systemd-resolved",
      });
    }
    const { applyCommand, applyDns, undoDns } = await import("../../resolver/mod.ts");
    const { signal } = context;
    if (undo) {
      const change = await asRoot(() => undoDns(world, { signal }), "sudo postern dns --undo");
      return await tellDnsChange(world, change);
    }
    const wish = await wishOf({ server, domains, id }, world, context);
    if (print !== undefined) return await printFor(print, wish, world, context);
    const change = await asRoot(() => applyDns(world, wish, { signal }), applyCommand(wish));
    await tellDnsChange(world, change);
  },
});

interface Asked {
  readonly server: string | undefined;
  readonly domains: readonly string[];
  readonly id: string;
}

async function wishOf({ server, domains, id }: Asked, world: World, context: RunContext): Promise<DnsWish> {
  const { checkedWish } = await import("../../instance/mod.ts");
  const { isDnsDomain, isOwnServer } = await import("../../resolver/mod.ts");
  const named = domains.map((text) => domainOf(text, isDnsDomain));
  const address = server === undefined ? undefined : serverOf(server, isOwnServer);
  if (address && named.length > 0) return checkedWish({ server: address, domains: named });
  const { signal } = context;
  const found = await fromInstanceOrFiles(world, id, context, {
    instance: async (client) =>
      (await import("../../instance/mod.ts")).dnsWishOf(await client.status({ signal })),
    files: (app, sources) => app.dnsWishFromFiles(world, sources),
  });
  return checkedWish({ server: address ?? found.server, domains: named.length > 0 ? named : found.domains });
}

/** What is written here ends up in files of the system. */
function domainOf(text: string, isDomain: (text: string) => boolean): string {
  const name = text.toLowerCase().replace(/^[~.]+|\.$/g, "");
  if (isDomain(name)) return name;
  throw new PosternError("usage", `Cannot use "${text.slice(0, 100)}" as a domain`, {
    hint: "write for example --domain corp.example.net",
  });
}

function serverOf(text: string, isOwn: (server: DnsWish["server"]) => boolean): DnsWish["server"] {
  const server = parseTarget(text, 53);
  if (isOwn(server)) return server;
  throw new PosternError(
    "usage",
    `Cannot use "${text.slice(0, 100)}" as the door's DNS: it is no loopback address`,
    { hint: "write for example --server 127.0.0.1:1053" },
  );
}

async function printFor(
  system: DnsSystem,
  wish: DnsWish,
  world: World,
  { signal }: Pick<RunContext, "signal">,
): Promise<void> {
  const { dnsSystemFiles, nrptCommands, systemdVersion } = await import("../../resolver/mod.ts");
  if (system === "nrpt") {
    const { make, undo } = nrptCommands(wish);
    await world.terminal.out(
      [...make, "# To undo it:", ...undo.map((line) => `# ${line}`)].join("\n") + "\n",
    );
    return;
  }
  const version = system === "macos" ? 0 : await systemdVersion(world, signal);
  const files = dnsSystemFiles(system, wish, { version });
  await world.terminal.out(files.map(({ path, content }) => `# ${path}\n${content}`).join("\n"));
}

/** What only root may do says who has to run what. */
async function asRoot<T>(work: () => Promise<T>, command: string): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isPosternError(error, "not_allowed")) throw error;
    throw error.with({ hint: `run as root: ${command}` });
  }
}

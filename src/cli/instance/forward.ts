import { object } from "@optique/core/constructs";
import { multiple, optional } from "@optique/core/modifiers";
import { argument, option } from "@optique/core/primitives";
import { string } from "@optique/core/valueparser";
import { PosternError } from "../../words/mod.ts";
import { absoluteFrom } from "../../world/mod.ts";
import { defineCommand } from "../line/command.ts";
import { instanceOption, pathValue, words } from "../line/options.ts";
import { SignalGuard } from "../line/wrapping.ts";
import { printable } from "../output/printable.ts";
import { demandOneSource } from "./nc_target.ts";

export default defineCommand({
  name: "forward",
  summary: "Open local ports to targets through the rules",
  description:
    "Listens on PORT and connects each client to HOST:PORT through the rules, for programs without proxy support. The " +
    "running instance listens until the command ends; without an instance, or with an older one, the command " +
    "listens by itself and says so. Each FORWARD is [ADDR:]PORT:HOST:PORT as for ssh -L (default ADDR: localhost), " +
    "or svc/NAME [LOCAL:]REMOTE... as for kubectl port-forward. PORT 0, or an empty LOCAL, picks a free port. On " +
    "either side, a path means a unix socket. Any local user can connect to a TCP port; only you can connect to a " +
    'unix socket. The first line on stdout is "ready ADDR...".',
  examples: [
    ["postern forward 5432:db.shop.svc:5432", "Forward localhost:5432 to a Service"],
    ["postern forward svc/db 5432:5432 -n shop", "The same in kubectl's syntax"],
    ["postern forward ./db.sock:db.example:5432", "Listen on a unix socket for your user only"],
    ["postern forward 0:db.example:5432 8080:web.example:80", "Two forwards, one on a free port"],
  ],
  parser: object({
    forwards: multiple(argument(string({ metavar: "FORWARD" }), {
      description: words("[ADDR:]PORT:HOST:PORT, PATH:HOST:PORT, or svc/NAME [LOCAL:]REMOTE..."),
    })),
    options: multiple(option("--forward", "-L", string({ metavar: "[ADDR:]PORT:HOST:PORT" }), {
      description: words("Another FORWARD, in the syntax of ssh."),
    })),
    namespace: optional(option("--namespace", "-n", string({ metavar: "NAMESPACE" }), {
      description: words("Namespace of svc/NAME (default: the namespace of short names in the rules)."),
    })),
    allowOpen: option("--allow-open", {
      description: words("Allow addresses that other machines can reach; a forward has no password."),
    }),
    readyFile: optional(option("--ready-file", pathValue("PATH"), {
      description: words("File for the bound addresses, one per line, written when they accept clients."),
    })),
    id: instanceOption("Instance to use (default: default); it must be running."),
  }),
  handlesSignals: true,
  async run({ forwards, options, namespace, allowOpen, readyFile, id }, world, context) {
    const { keepForwards } = await import("../../programs/mod.ts");
    const { parseForwards } = await import("../../listeners/mod.ts");
    const { globals, version, log } = context;
    const { terminal, process, files, places } = world;
    demandOneSource({ id, config: globals.config });
    const absolute = (path: string) =>
      /^~(?:\/|$)/.test(path) ? places.home + path.slice(1) : absoluteFrom(process.directory, path);
    const named = parseForwards([...options.flatMap((text) => text.trim().split(/\s+/)), ...forwards], {
      namespace,
      absolute,
    });
    if (named.length === 0) {
      throw new PosternError("usage", "Cannot forward: missing argument: FORWARD", {
        hint: "write, for example: postern forward 5432:db.example:5432",
      });
    }
    using guard = new SignalGuard(world);
    const file = readyFile === undefined ? undefined : absolute(readyFile);
    let hasWritten = false;
    try {
      await keepForwards(world, {
        asked: { forwards: named, allowOpen },
        config: globals.config,
        id,
        version,
        log,
        signal: guard.signal,
        alone: (reason) => terminal.err(`postern: ${printable(reason)}: forwarding by itself\n`),
        async bound(forwards, instance) {
          if (file !== undefined) {
            await files.replace(file, forwards.map(({ address }) => `${address}\n`).join(""));
            hasWritten = true;
          }
          await terminal.out(`ready ${forwards.map(({ address }) => printable(address)).join(" ")}\n`);
          const by = instance === undefined ? "" : ` through instance "${printable(instance)}"`;
          const lines = forwards.map(({ address, target }) =>
            `postern: forwards ${printable(address)} to ${printable(target)}${by}\n`
          );
          const isShared = forwards.some(({ address }) => !address.startsWith("unix:"));
          const warning =
            "postern: any local user can connect to a TCP port; a unix socket is for your user only\n";
          await terminal.err(lines.join("") + (isShared ? warning : ""));
        },
      });
    } finally {
      // Otherwise it may be the file of another command.
      if (file !== undefined && hasWritten) await files.remove(file);
    }
  },
});

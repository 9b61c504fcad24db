import { object } from "@optique/core/constructs";
import { optional } from "@optique/core/modifiers";
import { option } from "@optique/core/primitives";
import { string } from "@optique/core/valueparser";
import { parseListenAddress } from "../../config/mod.ts";
import { defineCommand } from "../line/command.ts";
import { words } from "../line/options.ts";

export default defineCommand({
  name: "demo",
  summary: "Run a self-contained simulation",
  description:
    "Runs in one process on this machine: hidden websites, a proxy and an ssh server that can reach them, and an " +
    "instance with a rule for each. postern connects with every protocol, checks the answers, and on a terminal " +
    "keeps the instance running for you until Ctrl-C. Keys and ssh configuration exist only in memory; postern " +
    "neither reads nor writes yours.",
  examples: [
    ["postern demo", "Run the checks, then keep the instance running"],
    ["postern demo --once", "Run the checks and exit"],
    ["postern demo --listen localhost:12000", "Keep running even without a terminal"],
  ],
  parser: object({
    once: option("--once", { description: words("Exit after the checks.") }),
    listen: optional(option("--listen", string({ metavar: "ADDR:PORT" }), {
      description: words("Listen address of the instance (default: a free port)."),
    })),
  }),
  async run({ once, listen }, world, { signal, version }) {
    // Reports an invalid address as wrong usage, not as a problem in the demo's configuration.
    if (listen !== undefined) parseListenAddress(listen);
    const { runDemo } = await import("../../demo/mod.ts");
    await runDemo(world, { once, version, ...(listen === undefined ? {} : { listen }) }, { signal });
  },
});

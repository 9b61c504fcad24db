import { object } from "@optique/core/constructs";
import { optional } from "@optique/core/modifiers";
import { option } from "@optique/core/primitives";
import { string } from "@optique/core/valueparser";
import { parseListenAddress } from "../../config/mod.ts";
import { defineCommand } from "../line/command.ts";
import { words } from "../line/options.ts";

/** `postern demo`. */
export default defineCommand({
  name: "demo",
  summary: "shows a door at work in a private little world",
  description:
    "Everything runs in this one process and on this machine only: hidden web sites that only the far side can " +
    "reach, a proxy and an ssh server that lead there, and a door in front with a rule for each. It tries the door " +
    "by every protocol, checks the answers, and on a terminal leaves the door open for you to try, until Ctrl-C. " +
    "Keys and ssh configuration are made for the run and in memory only: yours are neither read nor written.",
  examples: [
    ["postern demo", "shows the door working, then leaves it open"],
    ["postern demo --once", "shows it and ends"],
    ["postern demo --listen localhost:12000", "stays open without a terminal too"],
  ],
  parser: object({
    once: option("--once", { description: words("Ends when all has been tried.") }),
    listen: optional(option("--listen", string({ metavar: "ADDR:PORT" }), {
      description: words("Where the door listens (default: any free port)."),
    })),
  }),
  async run({ once, listen }, world, { signal, version }) {
    // An address that cannot be read is a mistake in the command, not in the configuration that the demo makes of it.
    if (listen !== undefined) parseListenAddress(listen);
    const { runDemo } = await import("../../demo/mod.ts");
    await runDemo(world, { once, version, ...(listen === undefined ? {} : { listen }) }, { signal });
  },
});

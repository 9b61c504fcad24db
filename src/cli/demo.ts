import { object } from "@optique/core/constructs";
import { optional } from "@optique/core/modifiers";
import { option } from "@optique/core/primitives";
import { string } from "@optique/core/valueparser";
import { defineCommand } from "./command.ts";
import { words } from "./options.ts";

/** `postern demo`. */
export default defineCommand({
  name: "demo",
  summary: "shows a door at work in a private little world",
  description:
    "Everything runs in this one process and on this machine only: a hidden web site that only the far side " +
    "can reach, and a door in front with a rule for it. It prints what to try, and ends at Ctrl-C.",
  examples: [
    ["postern demo", "opens the door and prints what to try"],
    ["postern demo --once", "tries it all by itself and checks the answers"],
  ],
  parser: object({
    once: option("--once", { description: words("Does the trying itself, checks the answers, and exits.") }),
    listen: optional(option("--listen", string({ metavar: "ADDR:PORT" }), {
      description: words("Where the door listens (default: any free port)."),
    })),
  }),
  async run({ once, listen }, world, { signal, version }) {
    const { runDemo } = await import("../demo/mod.ts");
    await runDemo(world, { once, version, ...(listen === undefined ? {} : { listen }) }, { signal });
  },
});

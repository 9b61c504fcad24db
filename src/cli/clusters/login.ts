import { object } from "@optique/core/constructs";
import { optional } from "@optique/core/modifiers";
import { argument, option } from "@optique/core/primitives";
import { string } from "@optique/core/valueparser";
import { defineCommand } from "../line/command.ts";
import { words } from "../line/options.ts";
import { printable } from "../output/printable.ts";

/** `postern login`. */
export default defineCommand({
  name: "login",
  summary: "signs in to where the catalogue comes from",
  description:
    "Opens a browser at the provider and waits until you are back. postern update does the same when it has to; " +
    "this is for signing in again, as somebody else, or ahead of a timer that cannot ask you.",
  examples: [
    ["postern login", "with a browser"],
    ["postern login --device", "with a code, for machines without a browser"],
  ],
  parser: object({
    name: optional(
      argument(string({ metavar: "CATALOGUE" }), {
        description: words("Only for this one of the configuration."),
      }),
    ),
    device: option("--device", {
      description: words("Where this machine has no browser: shows a code to be typed on another device."),
    }),
  }),
  async run({ name, device }, world, { globals: { config }, log, signal }) {
    const { signInToCatalogues } = await import("../../programs/mod.ts");
    const source = { config };
    const method = device ? "device" : "browser";
    for (const one of await signInToCatalogues(world, source, { name, method, log, signal })) {
      const who = one.name === undefined ? "" : ` as ${one.name}`;
      const until = one.expires === undefined ? "" : `, until ${one.expires.toISOString()}`;
      await world.terminal.err(
        `postern: ${
          printable(`signed in at ${one.provider}${who} for the catalogue ${one.catalogue}${until}`)
        }\n`,
      );
    }
  },
});

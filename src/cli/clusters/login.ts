import { object } from "@optique/core/constructs";
import { optional } from "@optique/core/modifiers";
import { argument, option } from "@optique/core/primitives";
import { string } from "@optique/core/valueparser";
import { defineCommand } from "../line/command.ts";
import { words } from "../line/options.ts";
import { printable } from "../output/printable.ts";

export default defineCommand({
  name: "login",
  summary: "Sign in to the catalogue's identity provider",
  description:
    "Opens a browser at the provider and waits until the sign-in is complete. postern update does the same when it " +
    "needs a token. Use this command to switch accounts, or to sign in ahead of a timer, which cannot prompt you.",
  examples: [
    ["postern login", "Sign in with a browser"],
    ["postern login --device", "Sign in with a code, without a browser on this machine"],
  ],
  parser: object({
    name: optional(
      argument(string({ metavar: "CATALOGUE" }), {
        description: words("Sign in to this catalogue only (default: all)."),
      }),
    ),
    device: option("--device", {
      description: words("Show a code to type on another device, for machines without a browser."),
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

import { object } from "@optique/core/constructs";
import { optional } from "@optique/core/modifiers";
import { argument } from "@optique/core/primitives";
import { string } from "@optique/core/valueparser";
import { defineCommand } from "../line/command.ts";
import { words } from "../line/options.ts";
import { printable } from "../output/printable.ts";

export default defineCommand({
  name: "logout",
  summary: "Delete the stored sign-in tokens",
  description:
    "Deletes the stored tokens and asks the provider to revoke them, if it supports that. postern keeps the " +
    "stored catalogue and commodore's own sign-in.",
  examples: [["postern logout", "Sign out of all catalogues"]],
  parser: object({
    name: optional(
      argument(string({ metavar: "CATALOGUE" }), {
        description: words("Sign out of this catalogue only (default: all)."),
      }),
    ),
  }),
  async run({ name }, world, { globals: { config }, log, signal }) {
    const { signOutOfCatalogues } = await import("../../programs/mod.ts");
    const source = { config };
    const { signedOut, others } = await signOutOfCatalogues(world, source, { name, log, signal });
    const say = (text: string) => world.terminal.err(`postern: ${printable(text)}\n`);
    for (const name of signedOut) await say(`signed out of the catalogue ${name}`);
    for (const name of others) await say(`no stored sign-in for the catalogue ${name}`);
  },
});

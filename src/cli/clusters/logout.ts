import { object } from "@optique/core/constructs";
import { optional } from "@optique/core/modifiers";
import { argument } from "@optique/core/primitives";
import { string } from "@optique/core/valueparser";
import { defineCommand } from "../line/command.ts";
import { words } from "../line/options.ts";
import { printable } from "../output/printable.ts";

/** `postern logout`. */
export default defineCommand({
  name: "logout",
  summary: "forgets the tokens of a sign-in",
  description:
    "Removes what is stored of a sign-in on this machine, and has the provider forget it too, where it can be " +
    "told. The catalogue stays, and what commodore has stored of its own sign-in stays too.",
  examples: [["postern logout", "for all catalogues"]],
  parser: object({
    name: optional(
      argument(string({ metavar: "CATALOGUE" }), {
        description: words("Only for this one of the configuration."),
      }),
    ),
  }),
  async run({ name }, world, { globals: { config }, log, signal }) {
    const { signOutOfCatalogues } = await import("../../programs/mod.ts");
    const source = { config };
    const { signedOut, others } = await signOutOfCatalogues(world, source, { name, log, signal });
    const say = (text: string) => world.terminal.err(`postern: ${printable(text)}\n`);
    for (const name of signedOut) await say(`signed out of the catalogue ${name}`);
    for (const name of others) await say(`nobody was signed in to the catalogue ${name}`);
  },
});

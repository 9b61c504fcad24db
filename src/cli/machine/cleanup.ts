import { object } from "@optique/core/constructs";
import { option } from "@optique/core/primitives";
import { counted } from "../../core/mod.ts";
import { isPosternError } from "../../words/mod.ts";
import { defineCommand } from "../line/command.ts";
import { tellDnsChange } from "./dns_change.ts";
import { words } from "../line/options.ts";

/** `postern cleanup`. */
export default defineCommand({
  name: "cleanup",
  summary: "removes what a door that was killed has left",
  description:
    "Sockets and locks of doors that are dead, and files that dns --apply has written for a door that answers no " +
    "more. What a running door needs stays. For the files of the system it has to be run as root.",
  examples: [["postern cleanup", "needs no running door"], [
    "sudo postern cleanup",
    "files of the system too",
  ], ["postern cleanup --learned", "after a cluster has been replaced at the same address"]],
  parser: object({
    learned: option("--learned", {
      description: words(
        "Forget what postern has learned of clusters: their networks, namespaces and Services.",
      ),
    }),
  }),
  async run({ learned }, world, { signal }) {
    const { cleanUp } = await import("../../resolver/mod.ts");
    const { forgetLearned } = await import("../../plan/mod.ts");
    if (learned) {
      const count = await forgetLearned(world);
      await world.terminal.err(`postern: forgot ${counted(count, "cluster")}\n`);
      return;
    }
    try {
      await tellDnsChange(world, await cleanUp(world, { signal }));
    } catch (error) {
      if (!isPosternError(error, "not_allowed")) throw error;
      throw error.with({ hint: "run as root: sudo postern cleanup" });
    }
  },
});

import { object } from "@optique/core/constructs";
import { option } from "@optique/core/primitives";
import type { DnsChange } from "../../resolver/mod.ts";
import { counted } from "../../core/mod.ts";
import { isPosternError, type PosternError } from "../../words/mod.ts";
import { defineCommand } from "../line/command.ts";
import { tellDnsChange } from "./dns_change.ts";
import { tellRestored } from "./system_proxy.ts";
import { words } from "../line/options.ts";

export default defineCommand({
  name: "cleanup",
  summary: "Clean up after a killed instance",
  description:
    "Removes the sockets and locks of dead instances, and the files that postern dns --apply wrote for an instance " +
    "that no longer answers; restores the settings that postern system-proxy changed for it. Keeps the files of " +
    "running instances. Only root can remove the system's files.",
  examples: [["postern cleanup", "Remove your files"], [
    "sudo postern cleanup",
    "Remove the system's files too",
  ], ["postern cleanup --learned", "Forget a cluster that was replaced at the same address"]],
  parser: object({
    learned: option("--learned", {
      description: words(
        "Delete what postern learned about clusters: networks, namespaces and Services.",
      ),
    }),
  }),
  async run({ learned }, world, { signal }) {
    const { cleanUp, restoreDeadProxy } = await import("../../resolver/mod.ts");
    const { forgetLearned } = await import("../../plan/mod.ts");
    if (learned) {
      const count = await forgetLearned(world);
      await world.terminal.err(`postern: deleted the learned state of ${counted(count, "cluster")}\n`);
      return;
    }
    let denied: PosternError | undefined;
    let change: DnsChange = { written: [], removed: [] };
    try {
      change = await cleanUp(world, { signal });
    } catch (error) {
      if (!isPosternError(error, "not_allowed")) throw error;
      // Root has no system proxy, so only this run can restore it.
      denied = error.with({ hint: "run as root: sudo postern cleanup" });
    }
    if (change.removed.length > 0) await tellDnsChange(world, change);
    const restored = await restoreDeadProxy(world, { signal });
    if (restored) await tellRestored(world, restored);
    if (denied) throw denied;
    if (!restored && change.removed.length === 0) await tellDnsChange(world, change);
  },
});

import { object } from "@optique/core/constructs";
import { optional } from "@optique/core/modifiers";
import { argument, option } from "@optique/core/primitives";
import { string } from "@optique/core/valueparser";
import { asPosternError, describe, isPosternError, PosternError } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import { defineCommand } from "../line/command.ts";
import { instanceOption, words } from "../line/options.ts";
import { printable } from "../output/printable.ts";

export default defineCommand({
  name: "stop",
  summary: "Stop a running instance",
  description:
    "The instance stops accepting connections, drains live ones up to its drain limit, and exits. postern returns " +
    "when the process has ended.",
  examples: [
    ["postern stop", "Stop the default instance"],
    ["postern stop work", "Stop the instance named work"],
    ["postern stop --all", "Stop all your instances"],
  ],
  parser: object({
    named: optional(
      argument(string({ metavar: "ID" }), { description: words("Instance ID (default: default).") }),
    ),
    id: instanceOption("Same as the argument ID."),
    all: option("--all", { description: words("Stop all your instances.") }),
  }),
  async run({ named, id, all }, world, { signal }) {
    if ([named, id, all || undefined].filter((given) => given !== undefined).length > 1) {
      throw new PosternError("usage", "Cannot stop an instance: use only one of ID, --id and --all", {
        hint: "run postern stop ID or postern stop --all",
      });
    }
    if (!all) return await stop(named ?? id ?? "default", world, { signal });
    const { instances } = await import("../../instances/mod.ts");
    const failed: PosternError[] = [];
    const unanswered = (_id: string, error: unknown) => void failed.push(asPosternError(error));
    const notes: string[] = [];
    const ignored = (error: PosternError) => void notes.push(`postern: ${printable(describe(error))}\n`);
    const ids = (await instances(world, { signal, unanswered, ignored })).map(({ id }) => id);
    await world.terminal.err(notes.join(""));
    if (ids.length === 0 && failed.length === 0) {
      throw new PosternError("refused", "Cannot stop an instance: none is running", {
        exit: 3,
        detail: "no_instance",
        hint: "start one: postern proxy",
      });
    }
    for (const result of await Promise.allSettled(ids.map((id) => stop(id, world, { signal })))) {
      // With --all, an instance may have stopped already.
      if (result.status === "rejected" && !isPosternError(result.reason, "refused")) {
        failed.push(asPosternError(result.reason));
      }
    }
    signal.throwIfAborted();
    const last = failed.pop();
    for (const error of failed) {
      await world.terminal.err(`postern: ${printable(describe(error))}\n`);
    }
    if (last) throw last;
  },
});

async function stop(id: string, world: World, { signal }: { signal: AbortSignal }): Promise<void> {
  const { stopInstance } = await import("../../instances/mod.ts");
  await stopInstance(world, id, { signal });
  await world.terminal.err(`postern: stopped "${id}"\n`);
  const { readProxyState } = await import("../../resolver/mod.ts");
  // The instance has stopped, whatever is wrong with this file; system-proxy and doctor report that.
  const state = await readProxyState(world).catch(() => undefined);
  if (state?.id !== id) return;
  await world.terminal.err("postern: the system proxy still uses it; restore it: postern system-proxy off\n");
}

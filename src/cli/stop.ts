import { object } from "@optique/core/constructs";
import { optional } from "@optique/core/modifiers";
import { argument, option } from "@optique/core/primitives";
import { string } from "@optique/core/valueparser";
import { isPosternError, pause, PosternError, type World } from "../core/mod.ts";
import { defineCommand } from "./command.ts";
import { instanceOption, words } from "./options.ts";

/** How often to look whether the door is gone. */
const lookEvery = 50;

/** `postern stop`. */
export default defineCommand({
  name: "stop",
  summary: "ends a running door",
  description:
    "The door stops accepting, lets live connections end up to its drain limit, and exits. This returns " +
    "when it is gone.",
  examples: [
    ["postern stop", "ends the instance default"],
    ["postern stop work", "ends the instance work"],
    ["postern stop --all", "ends all doors of this user"],
  ],
  parser: object({
    named: optional(
      argument(string({ metavar: "ID" }), { description: words("The instance (default: default).") }),
    ),
    id: instanceOption("The same, as an option."),
    all: option("--all", { description: words("Ends all doors of this user.") }),
  }),
  async run({ named, id, all }, world, { signal }) {
    if ([named, id, all || undefined].filter((given) => given !== undefined).length > 1) {
      throw new PosternError("usage", "Cannot tell which instance to stop: it is named twice", {
        hint: "postern stop ID, or postern stop --all",
      });
    }
    const { instances } = await import("../app/mod.ts");
    const silent: string[] = [];
    const unanswered = (id: string) => void silent.push(id);
    const ids = all
      ? (await instances(world, { signal, unanswered })).map((instance) => instance.id)
      : [named ?? id ?? "default"];
    if (ids.length === 0 && silent.length === 0) {
      throw new PosternError("refused", "Cannot stop a door: none runs", {
        exit: 3,
        detail: "no_instance",
        hint: "start one with: postern proxy",
      });
    }
    await Promise.all(ids.map((id) =>
      stop(id, world, { signal }).catch((error) => {
        // Of all doors one may have ended before it was its turn.
        if (!all || !isPosternError(error, "refused")) throw error;
      })
    ));
    if (silent.length === 0) return;
    throw new PosternError("timeout", `Cannot stop ${silent.join(", ")}: no answer`, {
      hint: "end such a process by hand",
    });
  },
});

async function stop(id: string, world: World, { signal }: { signal: AbortSignal }): Promise<void> {
  const { connectInstance } = await import("../app/mod.ts");
  const client = await connectInstance(world, id, { signal, ofAnyVersion: true });
  const { pid } = await client.hello({ signal });
  try {
    await client.stop({ signal });
  } catch (error) {
    // A door without connections may be gone before its answer is.
    if (!isPosternError(error, "unreachable")) throw error;
  }
  while (await isThere(world, { id, pid, signal })) await pause(world.clock, lookEvery, { signal });
  await world.terminal.err(`postern: stopped "${id}"\n`);
}

async function isThere(
  world: World,
  { id, pid, signal }: { id: string; pid: number; signal: AbortSignal },
): Promise<boolean> {
  const { connectInstance } = await import("../app/mod.ts");
  try {
    const client = await connectInstance(world, id, { signal, ofAnyVersion: true });
    return (await client.hello({ signal })).pid === pid;
  } catch (error) {
    if (isPosternError(error, "refused")) return false;
    // It is just closing its control socket.
    if (isPosternError(error, "unreachable")) return true;
    throw error;
  }
}

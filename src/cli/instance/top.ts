import { object } from "@optique/core/constructs";
import { option } from "@optique/core/primitives";
import type { ControlClient } from "../../control/mod.ts";
import { describe, PosternError } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import { defineCommand } from "../line/command.ts";
import { instanceOption, outputOption, words } from "../line/options.ts";
import { escaped } from "../output/odd_characters.ts";
import { paintFor } from "../output/paint.ts";
import { type TopAction, TopChoice } from "./top_choice.ts";
import { TopState } from "./top_state.ts";
import { topOnce, topScreen } from "./top_text.ts";

interface Watching {
  readonly client: ControlClient;
  readonly signal: AbortSignal;
}

export default defineCommand({
  name: "top",
  summary: "Show live connections and traffic",
  description:
    "Shows the live page in the terminal. Keys: q quits, / filters rows by words, s sorts by the next column, r reverses the " +
    "order, e shows ended connections, the arrow keys select a row, and x closes the selected connection after a " +
    "confirmation. Without a terminal, postern prints one snapshot and exits. -o json prints one JSON object per " +
    "line, once a second.",
  examples: [
    ["postern top", "Show the connections, updated every second"],
    ["postern top --once | head", "Print one snapshot"],
    ["postern top -o json | jq .status.bytes", "Print only the byte counters"],
  ],
  parser: object({
    id: instanceOption(),
    once: option("--once", { description: words("Print one snapshot and exit.") }),
    output: outputOption(["table", "json"], "table"),
  }),
  async run({ id = "default", once, output }, world, { signal }) {
    const { connectInstance } = await import("../../instances/mod.ts");
    const client = await connectInstance(world, id, { signal });
    if (output === "json") return await showLines(world, { client, signal }, once);
    if (once || !await showLive(world, { client, signal })) await showOnce(world, { client, signal });
  },
});

/** The abort reason when the command itself ends the watch. */
const enough = new PosternError("cancelled", "The watch is complete");

/** Watches until `isEnough` returns true; fails when the instance stops first. */
async function watch(
  { client, signal }: Watching,
  state: TopState,
  isEnough: (steps: number) => boolean | Promise<boolean>,
): Promise<void> {
  const own = new AbortController();
  let steps = 0;
  try {
    await client.watch(async (message) => {
      state.take(message);
      if (await isEnough(steps++)) own.abort(enough);
    }, { signal: AbortSignal.any([signal, own.signal]) });
  } catch (error) {
    if (own.signal.aborted && !signal.aborted) return;
    throw error;
  }
  if (!own.signal.aborted) throw hasClosed();
}

/** Prints one snapshot; measuring the rates takes a second. */
async function showOnce(world: World, watching: Watching): Promise<void> {
  const state = new TopState();
  await watch(watching, state, (steps) => steps >= 1);
  await world.terminal.out(topOnce(state, new TopChoice()));
}

/** Prints one object per line and second until the reader closes stdout. */
async function showLines(world: World, watching: Watching, isOnce: boolean): Promise<void> {
  const state = new TopState();
  await watch(watching, state, async (steps) => {
    if (steps === 0) return false;
    const { status, live, traffic } = state;
    const time = new Date(state.now).toISOString();
    const line = { time, status, traffic: traffic.at(-1), connections: [...live.values()] };
    await world.terminal.out(`${escaped(JSON.stringify(line))}\n`);
    return isOnce || !world.terminal.isRead;
  });
}

/** Updates the screen until the user quits; returns false without a terminal. */
async function showLive(world: World, { client, signal }: Watching): Promise<boolean> {
  const { terminal } = world;
  const state = new TopState();
  const choice = new TopChoice();
  const paint = paintFor(world, "out");
  const own = new AbortController();
  let drawing: Promise<void> | undefined;
  let isOld = false;
  const draw = () => {
    isOld = true;
    drawing ??= drawAll().catch((error) => own.abort(error)).finally(() => drawing = undefined);
  };
  // A slow terminal gets fewer updates, but always the newest state.
  const drawAll = async () => {
    while (isOld) {
      isOld = false;
      const lines = topScreen(state, choice, screen, paint);
      await terminal.out(`\x1b[H${lines.map((line) => `${line}\x1b[K`).join("\r\n")}\x1b[J`);
    }
  };
  const fulfil = async (action: TopAction) => {
    if ("id" in action) {
      choice.said = await closed(client, action.id, own.signal);
      draw();
    } else own.abort(action.kind === "quit" ? enough : new PosternError("cancelled", "Interrupted"));
  };
  const taken = terminal.takeScreen({
    typed: (keys) => {
      const action = choice.take(keys, state);
      if (action) void fulfil(action);
      draw();
    },
    resized: draw,
    stopped: (why) => own.abort(new PosternError("cancelled", `Stopped ${why}`)),
  });
  if (!taken) return false;
  await using screen = taken;
  try {
    await client.watch((message) => {
      state.take(message);
      draw();
    }, { signal: AbortSignal.any([signal, own.signal]) });
  } catch (error) {
    if (own.signal.reason !== enough) throw error;
    return true;
  } finally {
    await drawing;
  }
  throw hasClosed();
}

async function closed(client: ControlClient, id: number, signal: AbortSignal): Promise<string> {
  try {
    await client.closeConnection(id, { signal });
    return `Closed #${id}`;
  } catch (error) {
    return describe(error);
  }
}

function hasClosed(): PosternError {
  return new PosternError("refused", "Cannot watch the instance: it has stopped", {
    exit: 3,
    detail: "no_instance",
    hint: "list the running instances: postern status",
  });
}

import { object } from "@optique/core/constructs";
import { option } from "@optique/core/primitives";
import type { Status } from "../../control/mod.ts";
import { describe, isPosternError, PosternError } from "../../words/mod.ts";
import { pause } from "../../core/mod.ts";
import type { World } from "../../world/mod.ts";
import { defineCommand } from "../line/command.ts";
import { instanceOption, type OutputFormat, outputOption, words } from "../line/options.ts";
import { formatValue } from "../output/print_value.ts";
import { printable } from "../output/printable.ts";
import { statusText } from "./status_text.ts";

const watchEvery = 1000;

export default defineCommand({
  name: "status",
  summary: "Show running instances",
  description:
    "Shows the listeners, transports and counters of all your instances, or of one with --id. The exit code is 3 " +
    "when no instance runs.",
  examples: [
    ["postern status", "Show all your instances"],
    ["postern status --watch", "Update every second"],
    ["postern status -o json | jq '.[].listeners'", "Print only the listeners"],
    ['xdg-open "$(postern status --page)"', "Open the live page in a browser"],
  ],
  parser: object({
    id: instanceOption("Instance ID (default: all)."),
    output: outputOption(["table", "json", "yaml"], "table"),
    page: option("--page", {
      description: words(
        "Print the address of the live page; it contains an access token, so keep it secret.",
      ),
    }),
    watch: option("--watch", { description: words("Update every second until interrupted.") }),
  }),
  async run({ id, output, watch, page }, world, { signal }) {
    const { terminal } = world;
    if (page) return await terminal.out(`${await pageAddress(world, id ?? "default", { signal })}\n`);
    do {
      const found = await statuses(world, id, { signal });
      // Formatting, perhaps with the YAML library, needs no permission.
      if (!watch) world.process.keepOnly("nothing");
      const text = await formatStatuses(found, output, world);
      const isScreen = watch && terminal.isOutput && output === "table";
      // Write from the top left corner, then clear the rest: clearing first would flicker.
      await terminal.out(isScreen ? `\x1b[H${text.replaceAll("\n", "\x1b[K\n")}\x1b[J` : text);
      if (watch && terminal.isRead) await pause(world.clock, watchEvery, { signal });
    } while (watch && terminal.isRead);
  },
});

async function pageAddress(world: World, id: string, { signal }: { signal: AbortSignal }): Promise<string> {
  const { connectInstance } = await import("../../instances/mod.ts");
  return await (await connectInstance(world, id, { signal })).page({ signal });
}

async function statuses(
  world: World,
  id: string | undefined,
  { signal }: { signal: AbortSignal },
): Promise<Status[]> {
  const { connectInstance, instances, isUntrusted } = await import("../../instances/mod.ts");
  const notes: string[] = [];
  const silent: string[] = [];
  let distrusted: PosternError | undefined;
  // Another user can create such files at any time: they must not change the result.
  const ignored = (error: PosternError) => void notes.push(`postern: ${printable(describe(error))}\n`);
  const unanswered = (id: string, error: unknown) => {
    const isDistrusted = isUntrusted(error);
    if (isDistrusted) distrusted ??= error;
    const prefix = isDistrusted ? "" : `instance "${id}" does not answer: `;
    silent.push(`postern: ${prefix}${printable(describe(error))}\n`);
  };
  const ids = id === undefined
    ? (await instances(world, { signal, unanswered, ignored })).map((instance) => instance.id)
    : [id];
  const answers = await Promise.all(ids.map(async (one) => {
    try {
      return await (await connectInstance(world, one, { signal })).status({ signal });
    } catch (error) {
      // An instance that just stopped, or that runs a newer postern, must not hide the other instances.
      if (id !== undefined || signal.aborted) throw error;
      if (!isPosternError(error, "refused")) unanswered(one, error);
      return undefined;
    }
  }));
  const found = answers.filter((status) => status !== undefined);
  await world.terminal.err(notes.join(""));
  if (found.length === 0 && distrusted && silent.length === 1) throw distrusted;
  await world.terminal.err(silent.join(""));
  if (found.length === 0 && silent.length > 0) {
    throw new PosternError("timeout", "Cannot show the status: no instance answers", {
      hint: "find the process that hangs with postern doctor, and kill it",
    });
  }
  if (found.length === 0) {
    throw new PosternError("refused", "Cannot show the status: no instance is running", {
      exit: 3,
      detail: "no_instance",
      hint: "start one: postern proxy",
    });
  }
  return found;
}

async function formatStatuses(all: readonly Status[], output: OutputFormat, world: World): Promise<string> {
  return output === "table"
    ? all.map((status) => statusText(status, world)).join("\n")
    : await formatValue(all, output);
}

import { object } from "@optique/core/constructs";
import { optional } from "@optique/core/modifiers";
import { argument, option } from "@optique/core/primitives";
import { string } from "@optique/core/valueparser";
import { pause } from "../../core/mod.ts";
import { PosternError } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import { defineCommand } from "../line/command.ts";
import { instanceOption, words } from "../line/options.ts";

/** How many bytes to read at a time. */
const pieceSize = 1024 * 1024;
/** How often to check for new lines, in ms. A directory watcher reports changes only once they pause. */
const lookEvery = 250;

export default defineCommand({
  name: "logs",
  summary: "Print the log of a background instance or the service",
  description:
    "The log remains after the instance stops. On Linux, a service from postern service install logs to the journal, " +
    "which postern prints with journalctl. An instance in the foreground logs to its stderr.",
  examples: [
    ["postern logs --follow", "Print the log, then each new line"],
    ["postern logs work | grep conn.done", "Print the finished connections of the instance named work"],
  ],
  parser: object({
    named: optional(
      argument(string({ metavar: "ID" }), { description: words("Instance ID (default: default).") }),
    ),
    id: instanceOption("Same as the argument ID."),
    follow: option("-f", "--follow", {
      description: words("Print new lines until interrupted."),
    }),
  }),
  async run({ named, id, follow }, world, { signal }) {
    if (named !== undefined && id !== undefined) {
      throw new PosternError("usage", "Cannot print a log: ID and --id both name an instance", {
        hint: "use one of the two: postern logs ID",
      });
    }
    const { logFile } = await import("../../instances/mod.ts");
    const { serviceLog } = await import("../../service/mod.ts");
    const instance = named ?? id ?? "default";
    const service = instance === "default" ? await serviceLog(world, { isFollowed: follow }) : undefined;
    if (service && "command" in service) {
      await world.terminal.err(`postern: ${service.command.join(" ")}\n`);
      return await world.process.attached(service.command, { signal });
    }
    const path = service?.path ?? logFile(world, instance);
    if (!await world.files.info(path)) {
      throw new PosternError("refused", `Cannot print the log of "${instance}": "${path}" does not exist`, {
        exit: 3,
        detail: "no_instance",
        hint: `start the instance with postern proxy --background to keep a log${ofSystemd(world)}`,
      });
    }
    const end = await printFrom(path, 0, world, { signal });
    if (follow) await followFrom(path, end, world, { signal });
    return 0;
  },
});

/** A handwritten unit may have the same name as postern's. */
function ofSystemd({ process }: World): string {
  return process.platform === "linux"
    ? "; for a systemd unit, run: journalctl --user -u postern.service"
    : "";
}

/** Prints the file from `start` to its end; returns the position of the end. */
async function printFrom(
  path: string,
  start: number,
  world: World,
  { signal }: { signal: AbortSignal },
): Promise<number> {
  const decoder = new TextDecoder();
  let at = start;
  while (world.terminal.isRead) {
    signal.throwIfAborted();
    const piece = await world.files.readFrom(path, at, pieceSize);
    if (piece.length === 0) return at;
    at += piece.length;
    await world.terminal.out(decoder.decode(piece, { stream: true }));
  }
  return at;
}

/**
 * Prints new lines until the signal aborts or the reader of stdout closes it. Starts again at the beginning
 * of a log that became shorter. postern notices a closed pipe only when it writes the next line, because a
 * write of no bytes always succeeds and Deno has no `poll`. Until then, postern checks the file's size four
 * times a second.
 */
async function followFrom(
  path: string,
  start: number,
  world: World,
  { signal }: { signal: AbortSignal },
): Promise<void> {
  let at = start;
  while (world.terminal.isRead) {
    await pause(world.clock, lookEvery, { signal });
    const size = (await world.files.info(path))?.size ?? 0;
    // A removed log is empty until the next instance creates it.
    if (size === 0) at = 0;
    else if (size !== at) at = await printFrom(path, size < at ? 0 : at, world, { signal });
  }
}

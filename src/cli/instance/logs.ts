import { object } from "@optique/core/constructs";
import { optional } from "@optique/core/modifiers";
import { argument, option } from "@optique/core/primitives";
import { string } from "@optique/core/valueparser";
import { pause } from "../../core/mod.ts";
import { PosternError } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import { defineCommand } from "../line/command.ts";
import { instanceOption, words } from "../line/options.ts";

/** How much is read at a time. */
const pieceSize = 1024 * 1024;
/** How often to look for more. A directory that is watched tells of changes only once they pause. */
const lookEvery = 250;

/** `postern logs`. */
export default defineCommand({
  name: "logs",
  summary: "prints the log of a door in the background, or of the service",
  description:
    "The log is kept after the door has ended. What postern service-install has installed on Linux " +
    "logs to the journal, which journalctl prints. A door in the foreground logs to its own stderr.",
  examples: [
    ["postern logs --follow", "what there is, and then every line as it comes"],
    ["postern logs work | grep conn.done", "one line per finished connection of the instance work"],
  ],
  parser: object({
    named: optional(
      argument(string({ metavar: "ID" }), { description: words("The instance (default: default).") }),
    ),
    id: instanceOption("The same, as an option."),
    follow: option("-f", "--follow", {
      description: words("Goes on with every new line until interrupted."),
    }),
  }),
  async run({ named, id, follow }, world, { signal }) {
    if (named !== undefined && id !== undefined) {
      throw new PosternError("usage", "Cannot tell whose log to print: the instance is named twice", {
        hint: "postern logs ID",
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
      throw new PosternError("refused", `Cannot print the log of "${instance}": there is none at "${path}"`, {
        exit: 3,
        detail: "no_instance",
        hint: `only doors started with postern proxy --background keep one${ofSystemd(world)}`,
      });
    }
    const end = await printFrom(path, 0, world, { signal });
    if (follow) await followFrom(path, end, world, { signal });
    return 0;
  },
});

/** A unit that somebody has written by hand may have our name too. */
function ofSystemd({ process }: World): string {
  return process.platform === "linux" ? "; one of systemd: journalctl --user -u postern.service" : "";
}

/** Prints from a place to the end of the file; the answer is where that was. */
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
 * Goes on until the signal, or until nobody reads what it prints; a log that has become shorter was begun anew. That the
 * reader has gone shows at the next line and not before: a pipe tells its writer so at a write, one of no bytes always
 * succeeds, and Deno has no `poll`. Until then this looks at a file's size four times a second.
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
    // One that was removed has nothing to print until the next door begins it.
    if (size === 0) at = 0;
    else if (size !== at) at = await printFrom(path, size < at ? 0 : at, world, { signal });
  }
}

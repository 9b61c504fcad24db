import { asPosternError, PosternError } from "../../words/mod.ts";
import type { SignalName, World } from "../../world/mod.ts";
import type { Command } from "./command.ts";
import { reportError } from "../output/report_error.ts";

/** Shells use 126 and 127 for a program that they cannot start; 125 is free for postern's failures. */
const ownFailure = 125;

/** A command that returns another program's exit code, and 125 when postern itself fails. */
export function wrapping(command: Command): Command {
  return {
    ...command,
    async start(args, world, context) {
      try {
        return await command.start(args, world, context);
      } catch (error) {
        const known = asPosternError(error);
        if (known.code === "cancelled" || known.exit === 126 || known.exit === 127) throw error;
        await reportError(error, world, { showStack: false });
        return ownFailure;
      }
    },
  };
}

const fatal: readonly (readonly [SignalName, number])[] = [
  ["SIGINT", 130],
  ["SIGQUIT", 131],
  ["SIGTERM", 143],
  ["SIGHUP", 129],
];

/**
 * Catches signals so that postern can remove its temporary files before it exits. The first signal aborts `signal`
 * with the exit code that shells use for it. `Process.attached` forwards signals to a running program.
 */
export class SignalGuard implements Disposable {
  readonly #controller = new AbortController();
  readonly #listening = new DisposableStack();

  constructor({ process }: Pick<World, "process">) {
    for (const [name, exit] of fatal) {
      const heard = () => this.#controller.abort(new PosternError("cancelled", "Interrupted", { exit }));
      this.#listening.use(process.on(name, heard));
    }
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  [Symbol.dispose](): void {
    this.#listening.dispose();
  }
}

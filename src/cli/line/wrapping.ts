import { asPosternError, PosternError } from "../../words/mod.ts";
import type { SignalName, World } from "../../world/mod.ts";
import type { Command } from "./command.ts";
import { reportError } from "../output/report_error.ts";

/** What 126 and 127 mean to a shell is told by the program that could not be started. */
const ownFailure = 125;

/** A command that answers the exit code of another program: a failure of its own has one that programs rarely have. */
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
 * Keeps signals from ending us before what we made is taken away. Its own signal ends at the first of them, with the
 * exit code that a shell has for it; a program that runs meanwhile is told of them by `Process.attached`.
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

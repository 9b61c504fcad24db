import { asUnstarted } from "../../words/mod.ts";
import type { AttachedOptions, SignalName } from "../../world/mod.ts";
import type { Clock } from "../../core/mod.ts";
import { ProgramEnd } from "./program_end.ts";
import { listenForSignal } from "./signals.ts";
import { spawnProgram } from "./spawn_program.ts";

/**
 * Signals that a terminal sends to the whole group; without a listener, they would end us before the program.
 */
const ofTerminal: readonly SignalName[] = ["SIGINT", "SIGQUIT"];
/** Signals that reach only us but concern both. */
const passedOn: readonly SignalName[] = ["SIGTERM", "SIGHUP"];

/**
 * Runs a program to its end with our terminal, process group, input and output. The system sends SIGTSTP,
 * SIGCONT and SIGWINCH to the whole group.
 */
export async function runAttached(
  command: readonly string[],
  { signal, env }: AttachedOptions,
  clock: Clock,
): Promise<number> {
  signal.throwIfAborted();
  using listening = new DisposableStack();
  let child: Deno.ChildProcess | undefined;
  // Listen before the start: otherwise such a signal could end postern but not the program.
  for (const name of ofTerminal) listening.use(listenForSignal(name, () => {}));
  for (const name of passedOn) listening.use(listenForSignal(name, () => passOn(child, name)));
  try {
    child = spawnProgram(command, { env, stdin: "inherit", stdout: "inherit", stderr: "inherit" });
  } catch (error) {
    throw asUnstarted(error);
  }
  using _end = new ProgramEnd(child, signal, clock);
  return (await child.status).code;
}

function passOn(child: Deno.ChildProcess | undefined, name: SignalName): void {
  try {
    child?.kill(name);
  } catch (error) {
    // The program has just ended; its exit code follows.
    if (!(error instanceof TypeError || error instanceof Deno.errors.NotFound)) throw error;
  }
}

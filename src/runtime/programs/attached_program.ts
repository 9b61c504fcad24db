import { asUnstarted } from "../../words/mod.ts";
import type { AttachedOptions, SignalName } from "../../world/mod.ts";
import type { Clock } from "../../core/mod.ts";
import { ProgramEnd } from "./program_end.ts";
import { listenForSignal } from "./signals.ts";
import { spawnProgram } from "./spawn_program.ts";

/** What a terminal sends to the whole group: without a listener it would end us before the program. */
const ofTerminal: readonly SignalName[] = ["SIGINT", "SIGQUIT"];
/** What is sent to us alone, and meant for both. */
const passedOn: readonly SignalName[] = ["SIGTERM", "SIGHUP"];

/**
 * Runs a program to its end with our terminal, our process group, our input and output. SIGTSTP, SIGCONT and SIGWINCH
 * are left to the system, which sends them to the group.
 */
export async function runAttached(
  command: readonly string[],
  { signal, env }: AttachedOptions,
  clock: Clock,
): Promise<number> {
  signal.throwIfAborted();
  using listening = new DisposableStack();
  let child: Deno.ChildProcess | undefined;
  // Before it is started: there is no moment in which such a signal ends us alone.
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
    // It has just ended by itself: its exit code follows.
    if (!(error instanceof TypeError || error instanceof Deno.errors.NotFound)) throw error;
  }
}

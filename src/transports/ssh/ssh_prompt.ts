import { describe, type Log, type Process, type Terminal, Turns } from "../../core/mod.ts";
import type { Prompt } from "./ssh_auth.ts";

/** What asking a person needs of the world. */
export interface SshPromptParts {
  readonly terminal: Pick<Terminal, "isInput" | "ask">;
  readonly process: Pick<Process, "env" | "run">;
  readonly log: Log;
}

/**
 * How a person is asked, as ssh(1) says of SSH_ASKPASS: at the terminal, else by that program where there is a display.
 * Undefined where nobody can be asked. One question at a time.
 */
export function sshPrompt({ terminal, process, log }: SshPromptParts): Prompt | undefined {
  const program = askpassProgram(process.env, { hasTerminal: terminal.isInput });
  if (program === undefined) return terminal.isInput ? terminal.ask.bind(terminal) : undefined;
  const turns = new Turns();
  return ({ text }, { signal }) =>
    turns.take(() => runAskpass(program, text, { process, log, signal }), { signal });
}

/** The program that asks; undefined where the terminal is asked, or nobody. */
export function askpassProgram(
  env: Process["env"],
  { hasTerminal }: { readonly hasTerminal: boolean },
): string | undefined {
  const mode = env("SSH_ASKPASS_REQUIRE")?.toLowerCase();
  const hasDisplay = Boolean(env("DISPLAY") || env("WAYLAND_DISPLAY"));
  const isAllowed = mode === "force" || (mode !== "never" && hasDisplay);
  const isWanted = !hasTerminal || mode === "force" || mode === "prefer";
  return isAllowed && isWanted ? env("SSH_ASKPASS") || undefined : undefined;
}

/** The first line that it prints; undefined when it fails, which is how a person says no. */
async function runAskpass(
  program: string,
  text: string,
  { process, log, signal }: Pick<SshPromptParts, "process" | "log"> & { readonly signal: AbortSignal },
): Promise<string | undefined> {
  try {
    const { code, stdout } = await process.run([program, text], { signal });
    return code === 0 ? stdout.split(/[\r\n]/, 1)[0] : undefined;
  } catch (error) {
    signal.throwIfAborted();
    log.warn("ssh.askpass_failed", { program, reason: describe(error) });
    return undefined;
  }
}

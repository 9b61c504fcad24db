import { describe } from "../../words/mod.ts";
import { type Log, Turns } from "../../core/mod.ts";
import type { Process, Terminal } from "../../world/mod.ts";
import type { Prompt } from "./ssh_auth.ts";

/** What asking a person needs of the world. */
export interface SshPromptParts {
  readonly terminal: Pick<Terminal, "isInput" | "isErrorOutput" | "ask">;
  readonly process: Pick<Process, "env" | "run">;
  readonly log: Log;
  /** Nobody waits for a window: SSH_ASKPASS counts only where SSH_ASKPASS_REQUIRE asks for it. */
  readonly isUnattended?: boolean | undefined;
}

/**
 * How a person is asked, as ssh(1) says of SSH_ASKPASS: at the terminal, else by that program where there is a display.
 * Undefined where nobody can be asked. One question at a time.
 */
export function sshPrompt({ terminal, process, log, isUnattended }: SshPromptParts): Prompt | undefined {
  // A question that goes into a file would hold everything up, unseen.
  const hasTerminal = terminal.isInput && terminal.isErrorOutput;
  const program = askpassProgram(process.env, { hasTerminal, isUnattended });
  if (program === undefined && !hasTerminal) return undefined;
  const ask: Prompt = program === undefined
    ? (question, options) => terminal.ask(question, options)
    : ({ text }, { signal }) => runAskpass(program, text, { process, log, signal });
  const turns = new Turns();
  return (question, options) =>
    turns.take(async () => {
      if (question.isNeedless?.()) return undefined;
      const answer = await ask(question, options);
      // Whether it was right is for who asked.
      if (answer) await question.onAnswer?.(answer).catch(() => {});
      return answer;
    }, options);
}

/** The program that asks; undefined where the terminal is asked, or nobody. */
export function askpassProgram(
  env: Process["env"],
  { hasTerminal, isUnattended = false }: { hasTerminal: boolean; isUnattended?: boolean | undefined },
): string | undefined {
  const mode = env("SSH_ASKPASS_REQUIRE")?.toLowerCase();
  const hasDisplay = Boolean(env("DISPLAY") || env("WAYLAND_DISPLAY"));
  const isAllowed = mode === "force" || (mode !== "never" && hasDisplay);
  const isWanted = mode === "force" || mode === "prefer" || !(hasTerminal || isUnattended);
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

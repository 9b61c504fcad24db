import { describe } from "../../words/mod.ts";
import { type Log, Turns } from "../../core/mod.ts";
import type { Process, Terminal } from "../../world/mod.ts";
import type { Prompt } from "./ssh_auth.ts";

/** What a prompt needs from the system. */
export interface SshPromptParts {
  readonly terminal: Pick<Terminal, "isInput" | "isErrorOutput" | "ask">;
  readonly process: Pick<Process, "env" | "run">;
  readonly log: Log;
  /** Set when no user watches the desktop: then SSH_ASKPASS runs only if SSH_ASKPASS_REQUIRE demands it. */
  readonly isUnattended?: boolean | undefined;
}

/**
 * Chooses how to prompt the user, as ssh(1) describes for SSH_ASKPASS: at the terminal, or with that program
 * if there is a display. Undefined when neither is available. Asks one question at a time.
 */
export function sshPrompt({ terminal, process, log, isUnattended }: SshPromptParts): Prompt | undefined {
  // A prompt redirected to a file would block without being seen.
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
      // The caller checks the answer.
      if (answer) await question.onAnswer?.(answer).catch(() => {});
      return answer;
    }, options);
}

/** The program for prompts; undefined when the terminal is used, or no prompt is possible. */
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

/**
 * Returns the first line of the program's output; undefined when it fails, as it does when the user cancels.
 */
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

import { describe, isPosternError, PosternError } from "../words/mod.ts";
import { within } from "../core/mod.ts";
import type { World } from "../world/mod.ts";

export type ManagerCommand = readonly [program: string, ...args: string[]];

/** A command for the systemd user manager. */
export function systemctl(...args: string[]): ManagerCommand {
  return ["systemctl", "--user", ...args];
}

/** The command that stops a launchd agent. */
export function bootout(world: World, label: string): ManagerCommand {
  return ["launchctl", "bootout", `${domain(world)}/${label}`];
}

/** The launchd domain of the user. */
export function domain({ process }: World): string {
  return `gui/${process.uid ?? 501}`;
}

/** How to run commands of the service manager. */
export interface ManagerRun {
  readonly signal: AbortSignal;
  readonly tell: (step: string) => Promise<void>;
}

/** Runs commands in order. Returns the message of the first failure and stops there. */
export async function runAll(
  world: World,
  commands: readonly ManagerCommand[],
  { signal, tell }: ManagerRun,
): Promise<string | undefined> {
  for (const command of commands) {
    const text = command.join(" ");
    const answer = await runManager(world, command, { signal });
    if ("missing" in answer) {
      await tell(
        `${command[0]} not found; on a system that has it, run: ${
          commands.map((one) => one.join(" ")).join("; ")
        }`,
      );
      return undefined;
    }
    if (answer.code !== 0) {
      return `"${text}" failed: ${answer.stderr.trim().split("\n")[0] || `exit code ${answer.code}`}`;
    }
    await tell(`ran ${text}`);
  }
  return undefined;
}

/** The result of a command of the service manager. */
export type ManagerAnswer = { readonly code: number; readonly stdout: string; readonly stderr: string } | {
  readonly missing: string;
};

/** Time limit of a command in ms; a restart waits until an instance's connections have ended. */
const patience = 300_000;

/** Runs a command; a missing program is a result, not an error. */
export async function runManager(
  world: World,
  command: ManagerCommand,
  { signal }: { signal: AbortSignal },
): Promise<ManagerAnswer> {
  const text = command.join(" ");
  const error = () =>
    new PosternError("timeout", `Cannot run "${text}": not finished after ${patience / 1000} s`, {
      hint: "check postern service status, then try again",
    });
  try {
    return await within(
      { clock: world.clock, ms: patience, signal, error },
      (signal) => world.process.run(command, { signal }),
    );
  } catch (error) {
    if (signal.aborted || !isPosternError(error, "config")) throw error;
    return { missing: describe(error) };
  }
}

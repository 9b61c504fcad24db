import { describe, isPosternError, PosternError } from "../words/mod.ts";
import { within } from "../core/mod.ts";
import type { World } from "../world/mod.ts";

/** A command that the service manager has to be given. */
export type ManagerCommand = readonly [program: string, ...args: string[]];

/** A command for the systemd of the person. */
export function systemctl(...args: string[]): ManagerCommand {
  return ["systemctl", "--user", ...args];
}

/** The command that ends an agent of launchd. */
export function bootout(world: World, label: string): ManagerCommand {
  return ["launchctl", "bootout", `${domain(world)}/${label}`];
}

/** The person's own part of launchd. */
export function domain({ process }: World): string {
  return `gui/${process.uid ?? 501}`;
}

/** How commands of the service manager are run. */
export interface ManagerRun {
  readonly signal: AbortSignal;
  readonly tell: (step: string) => Promise<void>;
}

/** Runs them in their order; what the first one that fails says is the answer, and ends it. */
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
        `there is no ${command[0]} here; where there is one, run: ${
          commands.map((one) => one.join(" ")).join("; ")
        }`,
      );
      return undefined;
    }
    if (answer.code !== 0) {
      return `"${text}" says: ${answer.stderr.trim().split("\n")[0] || `exit code ${answer.code}`}`;
    }
    await tell(`ran ${text}`);
  }
  return undefined;
}

/** What a service manager said. */
export type ManagerAnswer = { readonly code: number; readonly stdout: string; readonly stderr: string } | {
  readonly missing: string;
};

/** How long a command may take, in ms: one that restarts an instance waits until its connections have ended. */
const patience = 300_000;

/** Runs one; a program that is not there is an answer too. */
export async function runManager(
  world: World,
  command: ManagerCommand,
  { signal }: { signal: AbortSignal },
): Promise<ManagerAnswer> {
  const text = command.join(" ");
  const error = () =>
    new PosternError("timeout", `Cannot wait for "${text}": no end within ${patience / 1000} s`, {
      hint: "the service manager may still be at it: see postern service status; then run it again",
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

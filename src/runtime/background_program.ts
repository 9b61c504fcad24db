import type { Background } from "../core/mod.ts";
import { fileError } from "./file_error.ts";
import { programError } from "./run_program.ts";

/**
 * Starts a program in a session of its own, both outputs appended to a log file (made 0600). `Deno.Command` cannot
 * hand a file to a child, so this is node's `spawn`; it reads the whole environment (`--allow-env`).
 */
export async function startBackground(
  command: readonly string[],
  { log, env }: { log: string; env?: Record<string, string> },
): Promise<Background> {
  const [{ spawn }, { closeSync, openSync }, { constants }] = await Promise.all([
    import("node:child_process"),
    import("node:fs"),
    import("node:os"),
  ]);
  const [program = "", ...args] = command;
  const output = openLog(log, openSync);
  try {
    const child = spawn(program, args, {
      detached: true,
      env: { ...Deno.env.toObject(), ...env },
      stdio: ["ignore", output, output],
    });
    const ended = new Promise<number>((resolve) => {
      child.once("exit", (code, signal) => resolve(code ?? 128 + (signal ? constants.signals[signal] : 0)));
    });
    await new Promise<void>((resolve, reject) => {
      child.once("spawn", resolve);
      child.once("error", reject);
    });
    return { pid: child.pid ?? 0, ended, release: () => child.unref() };
  } catch (error) {
    throw programError(error, program);
  } finally {
    closeSync(output);
  }
}

function openLog(path: string, open: (path: string, flags: string, mode: number) => number): number {
  try {
    return open(path, "a", 0o600);
  } catch (error) {
    throw fileError(error, `append to "${path}"`);
  }
}

import { PosternError } from "../../words/mod.ts";
import { fileError } from "../files/file_error.ts";

export interface SpawnOptions extends Pick<Deno.CommandOptions, "stdin" | "stdout" | "stderr" | "detached"> {
  /** Added to our own environment. */
  readonly env?: Record<string, string> | undefined;
}

/** Starts a program; throws `config` when there is no such program. */
export function spawnProgram(
  [program = "", ...args]: readonly string[],
  { env, ...streams }: SpawnOptions,
): Deno.ChildProcess {
  try {
    return new Deno.Command(program, { args, ...(env && { env }), ...streams }).spawn();
  } catch (error) {
    throw programError(error, program);
  }
}

/**
 * The error for a missing permission. Only a run from source has a list of programs; `scripts/postern.ts`
 * accepts more.
 */
function unpermittedProgram(program: string): PosternError {
  const flag = `--allow-run=${program}`;
  return new PosternError("not_allowed", `Cannot run "${program}": missing permission ${flag}`, {
    hint: `put the flag before the command: deno task postern ${flag} COMMAND`,
  });
}

/** Translates the system's error for a program that cannot be started. */
function programError(error: unknown, program: string): PosternError {
  if (error instanceof Deno.errors.NotFound || (error as { code?: unknown } | undefined)?.code === "ENOENT") {
    return new PosternError("config", `Cannot run "${program}": no such program`, {
      cause: error,
      detail: "no_program",
      hint: "install it, or use its full path",
    });
  }
  if (error instanceof Deno.errors.NotCapable) return unpermittedProgram(program);
  return fileError(error, `run "${program}"`);
}

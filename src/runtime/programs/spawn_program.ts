import { PosternError } from "../../words/mod.ts";
import { fileError } from "../files/file_error.ts";

/** How a program is started. */
export interface SpawnOptions extends Pick<Deno.CommandOptions, "stdin" | "stdout" | "stderr" | "detached"> {
  /** Set besides our own. */
  readonly env?: Record<string, string> | undefined;
}

/** Starts a program; that it cannot be started is `config` where there is none of that name. */
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

/** Only a run from source has a list of programs, and `scripts/postern.ts` takes more of them. */
function unpermittedProgram(program: string): PosternError {
  const flag = `--allow-run=${program}`;
  return new PosternError("not_allowed", `Cannot run "${program}": this needs the permission ${flag}`, {
    hint: `put the flag before the command: deno task postern ${flag} COMMAND`,
  });
}

/** What the system says of a program that cannot be started. */
function programError(error: unknown, program: string): PosternError {
  if (error instanceof Deno.errors.NotFound || (error as { code?: unknown } | undefined)?.code === "ENOENT") {
    return new PosternError("config", `Cannot run "${program}": no such program`, {
      cause: error,
      detail: "no_program",
      hint: "install it, or give its whole path",
    });
  }
  if (error instanceof Deno.errors.NotCapable) return unpermittedProgram(program);
  return fileError(error, `run "${program}"`);
}

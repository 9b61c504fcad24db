import { type Clock, whenAborted } from "../../core/mod.ts";
import { PosternError } from "../../words/mod.ts";
import type { RunOptions, RunResult } from "../../world/mod.ts";
import { collectText } from "../collect_text.ts";
import { ProgramEnd } from "./program_end.ts";
import { spawnProgram } from "./spawn_program.ts";

/** The default limit for each output of a program. */
const outputLimit = 4 * 1024 * 1024;

/** Runs a program to its end and collects its output. The signal also ends the program. */
export async function runProgram(
  command: readonly string[],
  { signal, env, stdin, limit = outputLimit }: RunOptions,
  clock: Clock,
): Promise<RunResult> {
  signal.throwIfAborted();
  const child = spawnProgram(command, {
    env,
    stdin: stdin === undefined ? "null" : "piped",
    stdout: "piped",
    stderr: "piped",
  });
  const ending = new AbortController();
  const stop = (reason: unknown) => ending.abort(reason);
  using _pass = whenAborted(signal, () => stop(signal.reason));
  const collect = (stream: ReadableStream<Uint8Array>) =>
    collectText(stream, { signal: ending.signal, limit, tooMuch: () => saysTooMuch(limit) }).catch(
      (error) => {
        stop(error);
        throw error;
      },
    );
  const killing = new ProgramEnd(child, ending.signal, clock);
  try {
    const [, stdout, stderr, status] = await Promise.all([
      stdin === undefined ? undefined : feed(child.stdin, stdin),
      collect(child.stdout),
      collect(child.stderr),
      child.status,
    ]);
    ending.signal.throwIfAborted();
    return { code: status.code, stdout, stderr };
  } catch (error) {
    stop(error);
    throw ending.signal.reason;
  } finally {
    // No child may outlive us unnoticed, even after a failure.
    await child.status;
    killing[Symbol.dispose]();
  }
}

async function feed(into: WritableStream<Uint8Array>, text: string): Promise<void> {
  try {
    await ReadableStream.from([new TextEncoder().encode(text)]).pipeTo(into);
  } catch (error) {
    // A program may end without reading its input; its exit code tells the rest. Deno 2.6 throws a TypeError
    // for that.
    if (!(error instanceof Deno.errors.BrokenPipe || error instanceof TypeError)) throw error;
  }
}

function saysTooMuch(limit: number): PosternError {
  return new PosternError("protocol", `Cannot read the program's output: more than ${limit} bytes`);
}

import { type Clock, whenAborted } from "../../core/mod.ts";
import { PosternError } from "../../words/mod.ts";
import type { RunOptions, RunResult } from "../../world/mod.ts";
import { collectText } from "../collect_text.ts";
import { ProgramEnd } from "./program_end.ts";
import { spawnProgram } from "./spawn_program.ts";

/** The most a program may say on one of its outputs where the caller names no limit. */
const outputLimit = 4 * 1024 * 1024;

/** Runs a program to its end and collects what it says. The signal ends the program too. */
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
    // Nobody may outlive us unseen, not even after a failure.
    await child.status;
    killing[Symbol.dispose]();
  }
}

async function feed(into: WritableStream<Uint8Array>, text: string): Promise<void> {
  try {
    await ReadableStream.from([new TextEncoder().encode(text)]).pipeTo(into);
  } catch (error) {
    // A program may end without having read its input; its exit code says the rest. Deno 2.6 has a TypeError for that.
    if (!(error instanceof Deno.errors.BrokenPipe || error instanceof TypeError)) throw error;
  }
}

function saysTooMuch(limit: number): PosternError {
  return new PosternError("protocol", `Cannot take what the program says: more than ${limit} bytes`);
}

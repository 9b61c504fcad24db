import { type Clock, whenAborted } from "../../core/mod.ts";
import { PosternError } from "../../words/mod.ts";
import type { RunOptions, RunResult } from "../../world/mod.ts";
import { ProgramEnd } from "./program_end.ts";
import { spawnProgram } from "./spawn_program.ts";
import { writeAll } from "../network/write_all.ts";

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
    collectText(stream, { signal: ending.signal, limit }).catch((error) => {
      stop(error);
      throw error;
    });
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
  const writer = into.getWriter();
  try {
    await writeAll(
      { write: (bytes) => writer.write(bytes).then(() => bytes.length) },
      new TextEncoder().encode(text),
    );
    await writer.close();
  } catch (error) {
    // A program may end without having read its input; its exit code says the rest. Deno 2.6 has a TypeError for that.
    if (!(error instanceof Deno.errors.BrokenPipe || error instanceof TypeError)) throw error;
  }
}

/** Reads until the end, the limit or the signal: a grandchild may hold the pipe open for ever. */
async function collectText(
  stream: ReadableStream<Uint8Array>,
  { signal, limit }: { signal: AbortSignal; limit: number },
): Promise<string> {
  const reader = stream.getReader();
  using _stop = whenAborted(signal, () => void reader.cancel(signal.reason));
  const decoder = new TextDecoder();
  let text = "";
  let length = 0;
  try {
    while (true) {
      const { done, value } = await reader.read();
      if (done) return text + decoder.decode();
      length += value.length;
      if (length > limit) {
        throw new PosternError("protocol", `Cannot take what the program says: more than ${limit} bytes`);
      }
      text += decoder.decode(value, { stream: true });
    }
  } finally {
    // After the end this does nothing; before it, it closes our end of the pipe.
    await reader.cancel();
  }
}

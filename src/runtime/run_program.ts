import { type Clock, PosternError, type RunOptions, type RunResult } from "../core/mod.ts";
import { fileError } from "./file_error.ts";
import { ProgramEnd } from "./program_end.ts";
import { writeAll } from "./write_all.ts";

/** The most a program may say on one of its outputs where the caller names no limit. */
const outputLimit = 4 * 1024 * 1024;

/** Runs a program to its end and collects what it says. The signal ends the program too. */
export async function runProgram(
  command: readonly string[],
  { signal, env, stdin, limit = outputLimit }: RunOptions,
  clock: Clock,
): Promise<RunResult> {
  signal.throwIfAborted();
  const child = spawn(command, { env, hasInput: stdin !== undefined });
  const ending = new AbortController();
  const stop = (reason: unknown) => ending.abort(reason);
  const pass = () => stop(signal.reason);
  signal.addEventListener("abort", pass, { once: true });
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
    signal.removeEventListener("abort", pass);
  }
}

function spawn(
  command: readonly string[],
  { env, hasInput }: { env: Record<string, string> | undefined; hasInput: boolean },
): Deno.ChildProcess {
  const [program = "", ...args] = command;
  try {
    return new Deno.Command(program, {
      args,
      ...(env ? { env } : {}),
      stdin: hasInput ? "piped" : "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
  } catch (error) {
    throw programError(error, program);
  }
}

/** What the system says of a program that cannot be started. */
export function programError(error: unknown, program: string): PosternError {
  if (error instanceof Deno.errors.NotFound || (error as { code?: unknown } | undefined)?.code === "ENOENT") {
    return new PosternError("config", `Cannot run "${program}": no such program`, {
      cause: error,
      detail: "no_program",
      hint: "install it, or give its whole path",
    });
  }
  return fileError(error, `run "${program}"`);
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
    // A program may end without having read its input; its exit code says the rest. Deno 2.4 has a TypeError for that.
    if (!(error instanceof Deno.errors.BrokenPipe || error instanceof TypeError)) throw error;
  }
}

/** Reads until the end, the limit or the signal: a grandchild may hold the pipe open for ever. */
async function collectText(
  stream: ReadableStream<Uint8Array>,
  { signal, limit }: { signal: AbortSignal; limit: number },
): Promise<string> {
  const reader = stream.getReader();
  const stop = () => void reader.cancel(signal.reason);
  if (signal.aborted) stop();
  signal.addEventListener("abort", stop, { once: true });
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
    signal.removeEventListener("abort", stop);
    // After the end this does nothing; before it, it closes our end of the pipe.
    await reader.cancel();
  }
}

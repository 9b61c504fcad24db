import { type Clock, type Conn, StreamedConn, whenAborted } from "../../core/mod.ts";
import type { EndedProgram, PipedProgram, PipeOptions } from "../../world/mod.ts";
import { PosternError } from "../../words/mod.ts";
import { ProgramEnd } from "./program_end.ts";
import { socketError } from "../network/socket_error.ts";
import { spawnProgram } from "./spawn_program.ts";

/** How much of a program's stderr to keep, in characters: the last lines explain why it ended. */
const tailLimit = 8 * 1024;
/** How long to read stderr after the program's end, in ms: a grandchild may keep it open forever. */
const lastWords = 200;

/**
 * Starts a program whose stdio is a connection. It runs in a separate session: an interrupt at the terminal
 * is for us, and we may still need the program; and it cannot prompt at our terminal.
 */
export async function pipeProgram(
  command: readonly string[],
  { signal, env }: PipeOptions,
  clock: Clock,
): Promise<PipedProgram> {
  signal.throwIfAborted();
  const child = spawnProgram(command, {
    env,
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
    detached: true,
  });
  const ending = new AbortController();
  const ended = endOf(child, ending.signal, clock);
  const conn = new PipeConn(child, {
    peer: `pipe:${command[0] ?? ""}`,
    ended,
    end: (reason) => ending.abort(reason),
  });
  const ear = whenAborted(signal, () => conn.abort(signal.reason));
  void ended.then(() => ear[Symbol.dispose]());
  return await Promise.resolve({ conn, ended });
}

async function endOf(child: Deno.ChildProcess, ending: AbortSignal, clock: Clock): Promise<EndedProgram> {
  using _end = new ProgramEnd(child, ending, clock);
  const late = new AbortController();
  const stderr = tailOf(child.stderr, late.signal);
  const { code } = await child.status;
  using _late = clock.after(ending.aborted ? 0 : lastWords, () => late.abort());
  return { code, stderr: await stderr };
}

/** Returns the last part of a stream, until its end or the signal. */
async function tailOf(stream: ReadableStream<Uint8Array>, signal: AbortSignal): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  const into = new WritableStream<Uint8Array>({
    write(bytes) {
      text = (text + decoder.decode(bytes, { stream: true })).slice(-tailLimit);
    },
  });
  try {
    await stream.pipeTo(into, { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  return text + decoder.decode();
}

interface PipeConnOptions {
  readonly peer: string;
  readonly ended: Promise<EndedProgram>;
  readonly end: (reason: unknown) => void;
}

/** A program's input and output as a connection. */
class PipeConn extends StreamedConn implements Conn {
  /** Makes `relay` read the pipe with its own growing buffers, like a socket. */
  readonly isSocket = true;
  onAbort: ((reason: unknown) => void) | undefined = undefined;
  readonly peer: string;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array<ArrayBuffer>>;
  readonly #ended: Promise<EndedProgram>;
  readonly #end: (reason: unknown) => void;
  #chunk: Uint8Array<ArrayBuffer> | undefined;
  #failure: unknown;
  #isWriteClosed = false;
  #failWrite: ((reason: unknown) => void) | undefined;

  constructor({ stdin, stdout }: Deno.ChildProcess, { peer, ended, end }: PipeConnOptions) {
    super();
    this.peer = peer;
    this.#reader = stdout.getReader();
    this.#writer = stdin.getWriter();
    // Each call reports its own failure; this promise would report it again.
    this.#writer.closed.catch(() => {});
    this.#ended = ended;
    this.#end = end;
  }

  async read(into: Uint8Array<ArrayBuffer>): Promise<number | null> {
    if (this.#failure !== undefined) throw this.#failure;
    if (!this.#chunk) {
      try {
        this.#chunk = await this.#nextChunk();
      } catch (error) {
        throw this.#failure ?? socketError(error, this.peer);
      }
      if (this.#failure !== undefined) throw this.#failure;
      if (!this.#chunk) return null;
    }
    const chunk = this.#chunk;
    const count = Math.min(into.length, chunk.length);
    into.set(count < chunk.length ? chunk.subarray(0, count) : chunk);
    this.#chunk = count < chunk.length ? chunk.subarray(count) : undefined;
    return count;
  }

  async #nextChunk(): Promise<Uint8Array<ArrayBuffer> | undefined> {
    while (true) {
      const { done, value } = await this.#reader.read();
      if (done) return undefined;
      if (value.length > 0) return value;
    }
  }

  write(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    // An abort does not wait for a program that reads nothing.
    this.#failWrite = reject;
    this.#writer.write(bytes).then(resolve, (error) => reject(this.#writeFailure(error)));
    return promise;
  }

  async closeWrite(): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#isWriteClosed) return;
    this.#isWriteClosed = true;
    try {
      await this.#writer.close();
    } catch (error) {
      throw this.#writeFailure(error);
    }
  }

  abort(reason: unknown = new DOMException("The connection was dropped", "AbortError")): void {
    if (this.#failure !== undefined) return;
    this.#drop(reason);
    this.tellAbort(reason);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#failure === undefined) {
      this.#drop(new PosternError("cancelled", "postern closed the connection"));
    }
    // No child may outlive us unnoticed.
    await this.#ended;
  }

  #drop(reason: unknown): void {
    this.#failure = reason;
    this.#end(reason);
    this.#reader.cancel(reason).catch(() => {});
    this.#writer.abort(reason).catch(() => {});
    this.#failWrite?.(reason);
  }

  /** Translates a write error; Deno 2.6 throws a TypeError when the program no longer reads. */
  #writeFailure(error: unknown): unknown {
    if (this.#failure !== undefined) return this.#failure;
    if (!(error instanceof TypeError || error instanceof Deno.errors.BrokenPipe)) {
      return socketError(error, this.peer);
    }
    return new PosternError("unreachable", `Cannot write to ${this.peer}: the program closed its input`, {
      cause: error,
      detail: "reset",
    });
  }
}

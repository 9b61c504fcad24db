import { type Clock, type Conn, StreamedConn } from "../../core/mod.ts";
import { PosternError } from "../../words/mod.ts";
import { fileError } from "../files/file_error.ts";
import { writeAll } from "../network/write_all.ts";

/** The parts of the standard streams that a connection uses. */
export interface Stdio {
  /** Called once at the end of the input. */
  readonly inputEnded?: (() => void) | undefined;
  readonly input: { read(into: Uint8Array): Promise<number | null> };
  readonly output: { write(bytes: Uint8Array): Promise<number> };
  /** Ends the output after its last byte. */
  readonly endOutput: () => Promise<void>;
  /**
   * How long the input may be silent after the end of the output, in ms; undefined means without limit. The limit is
   * longer once input has arrived: the target seems to read an upload.
   */
  readonly lingers: () => Promise<number | undefined>;
}

/** How long an upload after the end of the output may pause, in ms. */
const longestPause = 30_000;

/**
 * Standard input and output as a connection. Deno keeps a descriptor of the standard output until the process ends,
 * so a reader sees the end of the output only then: see `Stdio.lingers`.
 */
export class StdioConn extends StreamedConn implements Conn {
  /** Makes `relay` read with its own growing buffers, like from a socket. */
  readonly isSocket = true;
  readonly peer = "stdio";
  onAbort: ((reason: unknown) => void) | undefined = undefined;
  readonly #stdio: Stdio;
  readonly #clock: Clock;
  /** A read of the standard input cannot be canceled, so it has a buffer that no caller reuses. */
  readonly #buffer = new Uint8Array(64 * 1024);
  #held = this.#buffer.subarray(0, 0);
  #reading: Promise<void> | undefined;
  #isInputEnded = false;
  #isOutputEnded = false;
  #linger: number | undefined;
  #failure: unknown;
  /** Settles the waiting read. */
  #wake: (() => void) | undefined;
  #failWrite: ((reason: unknown) => void) | undefined;

  constructor(stdio: Stdio, clock: Clock) {
    super();
    this.#stdio = stdio;
    this.#clock = clock;
  }

  async read(into: Uint8Array<ArrayBuffer>): Promise<number | null> {
    while (this.#failure === undefined && this.#held.length === 0 && !this.#isInputEnded) await this.#more();
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#held.length === 0) return null;
    const count = Math.min(into.length, this.#held.length);
    into.set(this.#held.subarray(0, count));
    this.#held = this.#held.subarray(count);
    return count;
  }

  async write(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    this.#failWrite = reject;
    try {
      await Promise.race([writeAll(this.#stdio.output, bytes), aborted]);
    } catch (error) {
      // As for other programs in a pipeline: without a reader there is nothing left to do.
      this.abort(writeError(error));
      throw this.#failure;
    }
  }

  async closeWrite(): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#isOutputEnded) return;
    this.#isOutputEnded = true;
    await this.#stdio.endOutput();
    this.#linger = await this.#stdio.lingers();
    this.#wake?.();
  }

  abort(reason: unknown = new DOMException("The connection was dropped", "AbortError")): void {
    if (this.#failure !== undefined) return;
    this.#drop(reason);
    this.tellAbort(reason);
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#drop(new PosternError("cancelled", "postern closed the connection"));
    return Promise.resolve();
  }

  #drop(reason: unknown): void {
    this.#failure ??= reason;
    this.#wake?.();
    this.#failWrite?.(reason);
  }

  /** Waits until there is input, until `abort`, or until the output ends. */
  async #more(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    const reading = this.#reading ??= this.#readInput();
    using _silent = this.#linger === undefined ? undefined : this.#clock.after(this.#linger, () => {
      this.#endInput();
      resolve();
    });
    await Promise.race([reading, promise]);
  }

  #endInput(): void {
    if (this.#isInputEnded) return;
    this.#isInputEnded = true;
    this.#stdio.inputEnded?.();
  }

  async #readInput(): Promise<void> {
    try {
      const count = await this.#stdio.input.read(this.#buffer);
      if (count === null) this.#endInput();
      else {
        this.#held = this.#buffer.subarray(0, count);
        if (this.#linger !== undefined) this.#linger = longestPause;
      }
    } catch (error) {
      this.#failure ??= fileError(error, "read standard input");
    } finally {
      this.#reading = undefined;
    }
  }
}

function writeError(error: unknown): unknown {
  if (!(error instanceof Deno.errors.BrokenPipe)) return fileError(error, "write to standard output");
  return new PosternError("unreachable", "Cannot write to standard output: the reader closed it", {
    cause: error,
    detail: "reset",
  });
}

import { type Clock, type Conn, type DialOptions, StreamedConn, whenAborted } from "../../core/mod.ts";
import {
  type EndedProgram,
  hopsVariable,
  type PipedProgram,
  type Process,
  waitingHops,
} from "../../world/mod.ts";
import { PosternError } from "../../words/mod.ts";
import { causeLines, foreignText } from "../sign_in/foreign_text.ts";

export interface ProxyCommandDeps {
  readonly process: Pick<Process, "pipe" | "env">;
  readonly clock: Clock;
}

export interface ProxyCommandOptions extends Pick<DialOptions, "signal"> {
  /** The ssh host that the command connects to. */
  readonly alias: string;
}

/** The environment of a program that connects to an ssh host: a `postern nc` in it must not use that host. */
export function hopEnvironment(alias: string, env: Process["env"]): Record<string, string> {
  return { [hopsVariable]: [...waitingHops({ process: { env } }), alias].join(" ") };
}

/**
 * Runs a ProxyCommand as ssh does: it replaces the user's shell, and its stdio is the connection. If the
 * command ends before its first byte, the dial fails with the last lines of the command's output.
 */
export async function runProxyCommand(
  command: string,
  { process, clock }: ProxyCommandDeps,
  { signal, alias }: ProxyCommandOptions,
): Promise<Conn> {
  const shell = process.env("SHELL") || "/bin/sh";
  // Aborting the dial ends the command; after the dial, the command lives until the connection ends.
  const own = new AbortController();
  signal.throwIfAborted();
  using _pass = whenAborted(signal, () => own.abort(signal.reason));
  const program = await process.pipe([shell, "-c", `exec ${command}`], {
    signal: own.signal,
    env: hopEnvironment(alias, process.env),
  });
  const conn = new CommandConn(program, command);
  try {
    await begunOr(conn, clock);
    own.signal.throwIfAborted();
    return conn;
  } catch (error) {
    await conn[Symbol.asyncDispose]();
    throw own.signal.aborted ? own.signal.reason : error;
  }
}

/**
 * Waits for the first byte of the server, but only briefly: some servers wait for the client to speak first.
 */
function begunOr({ begun }: CommandConn, clock: Clock): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = clock.after(patience, resolve);
  begun.then(resolve, reject).finally(() => timer[Symbol.dispose]());
  return promise;
}

const patience = 500;
const early = 4096;

/** The connection to a command; its first read rejects when the command has failed. */
class CommandConn extends StreamedConn implements Conn {
  readonly isSocket = true;
  /** Resolves with the first byte; rejects with the command's output when the command ends before it. */
  readonly begun: Promise<void>;
  readonly #program: PipedProgram;
  readonly #command: string;
  #early: Uint8Array<ArrayBuffer> | undefined;
  #isAborted = false;

  constructor(program: PipedProgram, command: string) {
    super();
    this.#program = program;
    this.#command = command;
    this.begun = this.#begin();
    // The reader gets the same error.
    this.begun.catch(() => {});
  }

  get peer(): string {
    return this.#program.conn.peer;
  }

  async read(into: Uint8Array<ArrayBuffer>): Promise<number | null> {
    if (!this.#isAborted) await this.begun;
    if (!this.#early || this.#isAborted) return await this.#program.conn.read(into);
    const part = this.#early.subarray(0, into.length);
    into.set(part);
    this.#early = part.length < this.#early.length ? this.#early.subarray(part.length) : undefined;
    return part.length;
  }

  write(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    return this.#program.conn.write(bytes);
  }

  closeWrite(): Promise<void> {
    return this.#program.conn.closeWrite();
  }

  abort(reason?: unknown): void {
    this.#isAborted = true;
    this.#program.conn.abort(reason);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isAborted = true;
    await this.#program.conn[Symbol.asyncDispose]();
  }

  async #begin(): Promise<void> {
    const { conn, ended } = this.#program;
    const into = new Uint8Array(early);
    const count = await conn.read(into);
    if (count !== null) this.#early = into.subarray(0, count);
    else {
      await conn.closeWrite().catch(() => {});
      throw commandFailure(this.#command, await ended);
    }
  }
}

function commandFailure(command: string, { code, stderr }: EndedProgram): PosternError {
  const last = causeLines(stderr).at(-1);
  const said = last === undefined ? "" : `: ${last.slice(0, 300)}`;
  const ends = `it exited with code ${code} before the server sent any data${said}`;
  return new PosternError("unreachable", `Cannot use the ProxyCommand "${foreignText(command)}": ${ends}`, {
    detail: "host",
    hint: `run the command yourself: ${foreignText(command)}`,
  });
}

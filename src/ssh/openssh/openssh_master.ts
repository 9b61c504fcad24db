import { backoff, type Clock, type Conn, type Log, Messages, pause, whenAborted } from "../../core/mod.ts";
import type { EndedProgram, Files, Network, PipedProgram, Process } from "../../world/mod.ts";
import { isPosternError, PosternError } from "../../words/mod.ts";
import { decodeSshMuxAnswer, encodeSshMuxHello, encodeSshMuxRequest, sshMuxTypes } from "./ssh_mux.ts";
import {
  masterArguments,
  type OpensshTarget,
  questionCommand,
  readOptions,
  usualCommand,
} from "./openssh_arguments.ts";
import type { OpensshDirectory } from "./openssh_directory.ts";
import { signInFailure } from "./openssh_failure.ts";
import { hopEnvironment } from "../hops/proxy_command.ts";
import type { SshTimes } from "../hops/ssh_pool.ts";

export interface OpensshDeps {
  readonly process: Pick<Process, "env" | "run" | "pipe" | "platform">;
  readonly network: Pick<Network, "connect">;
  readonly files: Pick<Files, "remove">;
  readonly clock: Clock;
  readonly log: Log;
  readonly directory: Pick<OpensshDirectory, "socket">;
  readonly times: SshTimes;
}

/** ssh's options for a target, and its defaults. */
export interface OpensshConfiguration {
  readonly options: ReadonlyMap<string, string>;
  readonly usual: ReadonlyMap<string, string>;
}

/** Asks ssh for its configuration; makes no connection. */
export async function askOptions(
  target: OpensshTarget,
  { process }: Pick<OpensshDeps, "process">,
  { signal }: { readonly signal: AbortSignal },
): Promise<OpensshConfiguration> {
  const ask = async (command: readonly string[]) => {
    const { code, stdout, stderr } = await process.run(command, { signal, env: quiet });
    if (code !== 0) throw signInFailure(target.alias, { code, stderr });
    return readOptions(stdout);
  };
  const asked = ask(usualCommand);
  // Neither program outlives this call.
  const settled = asked.then(() => {}, () => {});
  try {
    return { options: await ask(questionCommand(target)), usual: await asked };
  } finally {
    await settled;
  }
}

/** The user's ssh program, signed in to a host, with a connection that carries channels to the host. */
export class OpensshMaster implements AsyncDisposable {
  readonly conn: Conn;
  readonly ended: Promise<EndedProgram>;
  readonly #program: PipedProgram;
  readonly #socket: string;
  readonly #files: OpensshDeps["files"];

  private constructor(
    conn: Conn,
    { program, socket, files }: { program: PipedProgram; socket: string; files: OpensshDeps["files"] },
  ) {
    this.conn = conn;
    this.ended = program.ended;
    this.#program = program;
    this.#socket = socket;
    this.#files = files;
  }

  /** Starts ssh and waits until it has signed in. */
  static async start(
    target: OpensshTarget,
    { options, usual, deps, signal }: OpensshConfiguration & {
      readonly deps: OpensshDeps;
      readonly signal: AbortSignal;
    },
  ): Promise<OpensshMaster> {
    const { process, files, times } = deps;
    const socket = await deps.directory.socket();
    signal.throwIfAborted();
    const command = masterArguments(target, { socket, options, usual, times });
    const program = await process.pipe(["/bin/sh", "-c", guarded, "sh", "ssh", ...command], {
      signal: new AbortController().signal,
      env: { ...quiet, ...hopEnvironment(target.alias, process.env) },
    });
    try {
      const conn = await controlOf(program, { socket, target, deps, signal });
      return new OpensshMaster(conn, { program, socket, files });
    } catch (error) {
      await stop(program, { socket, files });
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.conn[Symbol.asyncDispose]();
    await stop(this.#program, { socket: this.#socket, files: this.#files });
  }
}

/**
 * ssh must not outlive us, even if we are killed. A guard process reads from a pipe that only we can write,
 * and kills ssh if the pipe closes before it delivers a line. `exec` makes ssh the process that we started,
 * `$$` is its process id.
 */
const guarded = `exec 3<&0; { read -r word <&3 || kill $$; } >/dev/null 2>&1 & exec "$@" </dev/null 3<&-`;
const word = new TextEncoder().encode("end\n");
/** Disables prompts, also in the ssh processes that ssh starts for jump hosts. */
const quiet = { SSH_ASKPASS_REQUIRE: "never" };

async function stop(
  { conn }: PipedProgram,
  { socket, files }: { socket: string; files: OpensshDeps["files"] },
): Promise<void> {
  // Dismiss the guard. The write fails if ssh has ended with the guard; that is fine.
  await conn.write(word).catch(() => {});
  await conn[Symbol.asyncDispose]();
  await files.remove(socket);
}

interface Waiting {
  readonly socket: string;
  readonly target: OpensshTarget;
  readonly deps: OpensshDeps;
  readonly signal: AbortSignal;
}

/**
 * Waits for the control socket, which appears after the sign-in; then asks the master to pass channels
 * through.
 */
async function controlOf(program: PipedProgram, waiting: Waiting): Promise<Conn> {
  const { target, signal } = waiting;
  const own = new AbortController();
  using _pass = whenAborted(signal, () => own.abort(signal.reason));
  void program.ended.then((ended) => own.abort(signInFailure(target.alias, ended)));
  try {
    signal.throwIfAborted();
    return await proxied(await connected({ ...waiting, signal: own.signal }), {
      ...waiting,
      signal: own.signal,
    });
  } catch (error) {
    // The program's exit says more than a broken socket.
    if (!own.signal.aborted) await pause(waiting.deps.clock, 300, { until: program.ended });
    throw own.signal.aborted ? own.signal.reason : error;
  }
}

async function connected({ socket, deps: { network, clock }, signal }: Waiting): Promise<Conn> {
  for (let tries = 0;; tries++) {
    try {
      return await network.connect({ path: socket }, { signal });
    } catch (error) {
      if (!isPosternError(error, "refused")) throw error;
    }
    await pause(clock, backoff(tries, { first: 5, most: 25, factor: 1.5 }), { signal });
  }
}

async function proxied(conn: Conn, { target: { alias }, signal }: Waiting): Promise<Conn> {
  using _stop = whenAborted(signal, () => conn.abort(signal.reason));
  try {
    const messages = new Messages(conn);
    await conn.write(encodeSshMuxHello());
    await conn.write(encodeSshMuxRequest("proxy"));
    for (let seen = 0; seen < 2; seen++) {
      const answer = await messages.read(decodeSshMuxAnswer);
      if (answer?.type === sshMuxTypes.proxying) return messages.goOn();
      if (answer?.type !== sshMuxTypes.hello) break;
    }
    throw new PosternError(
      "config",
      `Cannot use ssh ${alias}: the ssh program does not support "proxy" mode on its control socket`,
      {
        hint: "install OpenSSH 7.4 or newer, or use the built-in engine for this host",
      },
    );
  } catch (error) {
    await conn[Symbol.asyncDispose]();
    throw error;
  }
}

import type { Clock, Conn } from "../core/mod.ts";
import type { Stores } from "./store.ts";
import type { Network } from "./network.ts";

/** Everything outside the program. `runtime` makes the real one, `tests/support` others. */
export interface World {
  readonly clock: Clock;
  readonly network: Network;
  readonly files: Files;
  readonly stores: Stores;
  readonly process: Process;
  readonly terminal: Terminal;
  readonly places: Places;
}

export interface FileInfo {
  readonly kind: "file" | "directory" | "other";
  readonly size: number;
  /** Milliseconds since 1970. */
  readonly modified: number;
  readonly mode: number | undefined;
  readonly owner: number | undefined;
}

export interface Files {
  /** The whole file, refused over `limit` bytes before it is read. A missing one is `config` unless `readIfThere`. */
  read(path: string, options?: { limit?: number }): Promise<Uint8Array<ArrayBuffer>>;
  readText(path: string, options?: { limit?: number }): Promise<string>;
  readTextIfThere(path: string, options?: { limit?: number }): Promise<string | undefined>;
  /** At most `count` bytes from an offset, empty behind the end: for files that grow. */
  readFrom(path: string, offset: number, count: number): Promise<Uint8Array<ArrayBuffer>>;
  /** To a temporary file beside it, then renamed. Mode 0600 unless told otherwise. */
  replace(path: string, content: string | Uint8Array, options?: { mode?: number }): Promise<void>;
  /** Makes an empty file where nothing is, as a mark for other programs; false where something is. */
  create(path: string): Promise<boolean>;
  info(path: string): Promise<FileInfo | undefined>;
  list(path: string): Promise<readonly string[]>;
  /**
   * Whether something is at the path. Fails with `config` and the detail `untrusted` unless that is ours alone: of this
   * kind and no link to it, owned by our user, closed to others, and where no other user can put something else.
   */
  owned(path: string, kind: "directory" | "socket"): Promise<boolean>;
  /** Makes a directory with its parents; the last one gets `mode` (0700). An existing one must be ours and closed to others. */
  privateDirectory(path: string): Promise<void>;
  /** Makes a directory that everybody may read, in one that is there; false where it is there already. */
  publicDirectory(path: string): Promise<boolean>;
  /** No failure when it is missing. */
  remove(path: string): Promise<void>;
  /** Appends to a log file; the file is made 0600. */
  append(path: string): Promise<AppendFile>;
  /**
   * Takes the lock of a file, made if missing; undefined when another process holds it. Disposing gives it back, and
   * with `removes` takes the file away too, where the platform can do that safely. A link or another user's file fails,
   * unless the file is the person's own (`isTheirs`).
   */
  lock(
    path: string,
    options?: { readonly removes?: boolean; readonly isTheirs?: boolean },
  ): Promise<Disposable | undefined>;
  /** Calls `changed` after something in a directory changed and 200 ms of quiet. */
  watch(directory: string, changed: () => void): Disposable;
  real(path: string): Promise<string>;
}

export interface AppendFile extends Disposable {
  write(text: string): Promise<void>;
}

export type SignalName = "SIGHUP" | "SIGINT" | "SIGTERM" | "SIGQUIT";

/** What a configuration needs beside the network and postern's own directories. */
export interface Needs {
  /** For ssh hosts: a shell, `ssh`, SSH_ASKPASS, `~/.ssh`, the agent's socket. */
  readonly ssh: boolean;
  /** The programs that sign in to its clusters; "any" where they are not known. */
  readonly plugins: "any" | readonly string[];
  /** The files of the system's resolver. */
  readonly resolver: boolean;
}

export interface Process {
  readonly platform: "linux" | "darwin" | "windows";
  readonly arch: string;
  readonly pid: number;
  readonly uid: number | undefined;
  readonly isCompiled: boolean;
  /** The command line that starts postern again: the executable and what precedes the command. */
  readonly self: readonly string[];
  readonly directory: string;
  /** This machine's own name. */
  readonly hostName: string;
  env(name: string): string | undefined;
  /** Who runs this by the user database: what HOME and USER say may have been changed by hand. */
  account(): Promise<Account>;
  /** Calls `heard` for each such signal until disposed. */
  on(signal: SignalName, heard: () => void): Disposable;
  /** Whether we may start a program. */
  mayRun(program: string): boolean;
  /** Gives up, for good, the right to start programs and to write to places that these needs do not name. */
  keepOnly(needs: Needs | "nothing"): void;
  /** What of these needs was given up: `ssh`, or the name of a program; undefined where nothing was. */
  missing(needs: Needs): string | undefined;
  /** Runs a program to its end and collects what it says; input and output are closed unless given. */
  run(command: readonly string[], options: RunOptions): Promise<RunResult>;
  /**
   * Starts a program whose input and output are a connection; its half-close is the end of the program's input. It has
   * no terminal, and what is typed at ours does not reach it. Ending the connection, or the signal, ends the program.
   */
  pipe(command: readonly string[], options: PipeOptions): Promise<PipedProgram>;
  /**
   * Runs a program to its end in our place: it has our terminal, our process group, our input and output. SIGINT and
   * SIGQUIT, which a terminal sends to all, are its business; SIGTERM and SIGHUP are passed on to it. The answer is its
   * exit code, 128 and more after a signal. One that cannot be started fails with exit code 126, a missing one with 127.
   */
  attached(command: readonly string[], options: AttachedOptions): Promise<number>;
  /** Starts a program that outlives us, its output to a file. Until it is released the signal ends it. */
  background(
    command: readonly string[],
    options: BackgroundOptions,
  ): Promise<Background>;
  /** Resident memory in bytes, where known. */
  memory(): number;
}

export interface Account {
  readonly name: string;
  readonly home: string;
}

export interface RunOptions {
  readonly signal: AbortSignal;
  readonly env?: Record<string, string>;
  readonly stdin?: string;
  /** The most bytes it may say on one of its outputs; 4 MiB unless told. */
  readonly limit?: number;
}

export interface AttachedOptions {
  /** Its end ends the program too. */
  readonly signal: AbortSignal;
  /** Set besides what we have. */
  readonly env?: Record<string, string>;
}

export interface RunResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface PipeOptions {
  readonly signal: AbortSignal;
  readonly env?: Record<string, string>;
}

export interface PipedProgram {
  readonly conn: Conn;
  /** How it ended, and the last that it said on stderr. Never fails. */
  readonly ended: Promise<EndedProgram>;
}

export interface EndedProgram {
  readonly code: number;
  readonly stderr: string;
}

export interface BackgroundOptions {
  readonly log: string;
  readonly signal: AbortSignal;
  readonly env?: Record<string, string>;
}

export interface Background {
  readonly pid: number;
  /** The exit code, once it has ended. */
  readonly ended: Promise<number>;
  /** Lets go of it: we may exit, it goes on. */
  release(): void;
}

export interface Terminal {
  readonly isInput: boolean;
  readonly isOutput: boolean;
  readonly isErrorOutput: boolean;
  /** False once the reader of stdout has gone away: what would print for ever has nobody to print for. */
  readonly isRead: boolean;
  readonly columns: number;
  /** Writes to stdout, in order; resolves when written. A reader that has gone away is no error. */
  out(text: string): Promise<void>;
  /** Writes to stderr, in order. */
  err(text: string): Promise<void>;
  readInput(limit: number): Promise<string>;
  /**
   * Asks on stderr whoever sits at the terminal of stdin, one question at a time. Undefined when one of the two is no
   * terminal or nobody answers; the interrupt key is `cancelled`, and SIGINT to all who listen for it.
   */
  ask(question: Question, options: { signal: AbortSignal }): Promise<string | undefined>;
  /** Takes the whole terminal for a picture of our own; undefined where stdin or stdout is none. */
  takeScreen(events: ScreenEvents): Screen | undefined;
}

/** What happens while a program has the screen. */
export interface ScreenEvents {
  /** Keys, as the terminal sends them. */
  readonly typed: (keys: string) => void;
  readonly resized: () => void;
  /** Somebody wants the program to end, or the terminal has gone. */
  readonly stopped: (why: string) => void;
}

/** The terminal as one picture, written with `Terminal.out`. Disposing gives it back as it was. */
export interface Screen extends AsyncDisposable {
  readonly columns: number;
  readonly rows: number;
}

/** What a person is asked. */
export interface Question {
  readonly text: string;
  /** Whether the answer is shown as it is typed; a secret is not. */
  readonly echo: boolean;
}

/** The platform's directories for this program. */
export interface Places {
  readonly home: string;
  readonly config: string;
  readonly state: string;
  readonly cache: string;
  /** Sockets and locks: gone at log-out, where the system has such a directory. */
  readonly runtime: string;
  /** Where an earlier postern has these, while this one looks there too. */
  readonly formerRuntime?: string;
  readonly temporary: string;
  /** Where the system's own files begin: at the root where it is absent, elsewhere for images and in tests. */
  readonly system?: string;
}

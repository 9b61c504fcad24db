import type { Clock, Conn } from "../core/mod.ts";
import type { Stores } from "./store.ts";
import type { Network } from "./network.ts";

/** Everything outside the program. `runtime` implements the real world, `tests/support` test doubles. */
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
  /**
   * Reads a whole file; refuses one over `limit` bytes. A missing file is a `config` error unless
   * `readIfThere`.
   */
  read(path: string, options?: { limit?: number }): Promise<Uint8Array<ArrayBuffer>>;
  readText(path: string, options?: { limit?: number }): Promise<string>;
  readTextIfThere(path: string, options?: { limit?: number }): Promise<string | undefined>;
  /** Reads at most `count` bytes from an offset of a growing file; empty beyond the end. */
  readFrom(path: string, offset: number, count: number): Promise<Uint8Array<ArrayBuffer>>;
  /** Writes a temporary file in the same directory and renames it. Default mode: 0600. */
  replace(path: string, content: string | Uint8Array, options?: { mode?: number }): Promise<void>;
  /** Creates an empty marker file; false if the path already exists. */
  create(path: string): Promise<boolean>;
  info(path: string): Promise<FileInfo | undefined>;
  list(path: string): Promise<readonly string[]>;
  /**
   * Whether the path exists. Throws `config` with the detail `untrusted` for a link, another kind of file,
   * another owner, or a path that other users can open or replace.
   */
  owned(path: string, kind: "directory" | "socket"): Promise<boolean>;
  /**
   * Creates a directory with its parents and mode 0700. An existing directory must be ours and closed to
   * other users.
   */
  privateDirectory(path: string): Promise<void>;
  /** Creates a world-readable directory in an existing one; false if it already exists. */
  publicDirectory(path: string): Promise<boolean>;
  /** Removes a path; a missing one is not an error. */
  remove(path: string): Promise<void>;
  /** Opens a log file for appending; creates it with mode 0600. */
  append(path: string): Promise<AppendFile>;
  /**
   * Locks a file and creates it if missing; undefined if another process holds the lock. Disposing releases
   * the lock; with `removes` it also deletes the file, if the platform can do that safely. Throws for a link
   * or another user's file, unless the file belongs to the person who runs postern (`isTheirs`).
   */
  lock(
    path: string,
    options?: { readonly removes?: boolean; readonly isTheirs?: boolean },
  ): Promise<Disposable | undefined>;
  /** Calls `changed` when a directory has changed and stayed quiet for 200 ms. */
  watch(directory: string, changed: () => void): Disposable;
  real(path: string): Promise<string>;
}

export interface AppendFile extends Disposable {
  write(text: string): Promise<void>;
}

export type SignalName = "SIGHUP" | "SIGINT" | "SIGTERM" | "SIGQUIT";

/** The rights that a configuration needs, apart from the network and postern's own directories. */
export interface Needs {
  /** For ssh hosts: a shell, `ssh`, SSH_ASKPASS, `~/.ssh`, the agent's socket. */
  readonly ssh: boolean;
  /** The programs that sign in to its clusters; "any" if unknown. */
  readonly plugins: "any" | readonly string[];
  /** The files of the system resolver. */
  readonly resolver: boolean;
}

export interface Process {
  readonly platform: "linux" | "darwin" | "windows";
  readonly arch: string;
  readonly pid: number;
  readonly uid: number | undefined;
  readonly isCompiled: boolean;
  /** The command line that starts postern: the executable and everything before the command. */
  readonly self: readonly string[];
  readonly directory: string;
  readonly hostName: string;
  env(name: string): string | undefined;
  /** The user from the user database: HOME and USER may have been changed. */
  account(): Promise<Account>;
  /** Calls `heard` for each signal until disposed. */
  on(signal: SignalName, heard: () => void): Disposable;
  mayRun(program: string): boolean;
  /**
   * Permanently drops the rights to start programs and to write to places that these needs do not contain.
   */
  keepOnly(needs: Needs | "nothing"): void;
  /** The dropped right among these needs: `ssh` or the name of a program; undefined if none is missing. */
  missing(needs: Needs): string | undefined;
  /** Runs a program and collects its output; stdin is closed by default. */
  run(command: readonly string[], options: RunOptions): Promise<RunResult>;
  /**
   * Starts a program whose input and output are a connection; half-close ends its input. The program has no
   * terminal and gets no keys from ours. It ends with the connection or the signal.
   */
  pipe(command: readonly string[], options: PipeOptions): Promise<PipedProgram>;
  /**
   * Runs a program in the foreground with our terminal, process group, input and output. The program handles
   * SIGINT and SIGQUIT, which a terminal sends to both; we forward SIGTERM and SIGHUP. Returns its exit code,
   * or 128 plus the signal. A program that cannot start fails with exit code 126, a missing one with 127.
   */
  attached(command: readonly string[], options: AttachedOptions): Promise<number>;
  /**
   * Starts a program that outlives this process, with its output in a file. Until it is released, the signal
   * ends it.
   */
  background(
    command: readonly string[],
    options: BackgroundOptions,
  ): Promise<Background>;
  /** Resident memory in bytes, if known. */
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
  /** The maximum size of each output in bytes (default: 4 MiB). */
  readonly limit?: number;
}

export interface AttachedOptions {
  /** Aborting it ends the program. */
  readonly signal: AbortSignal;
  /** Added to our environment. */
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
  /** The exit code and the last output on stderr. Never rejects. */
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
  /** Resolves with the exit code. */
  readonly ended: Promise<number>;
  /** Releases the program: it continues after this process ends. */
  release(): void;
}

export interface Terminal {
  readonly isInput: boolean;
  readonly isOutput: boolean;
  readonly isErrorOutput: boolean;
  /** False once the reader of stdout has closed it, so that endless output can stop. */
  readonly isRead: boolean;
  readonly columns: number;
  /** Writes to stdout in order; resolves when written. A closed reader is not an error. */
  out(text: string): Promise<void>;
  /** Writes to stderr, in order. */
  err(text: string): Promise<void>;
  readInput(limit: number): Promise<string>;
  /**
   * Standard input and output as one connection; nothing else may use them meanwhile. A reader of the output sees its
   * end when the process ends, so after `closeWrite` the input ends too if a program may be waiting for that: when
   * the input is a terminal, or when the output is a pipe and the input is silent.
   */
  conn(options?: { readonly inputEnded?: () => void }): Conn;
  /**
   * Asks the user at the terminal, one question at a time; prompts on stderr. Undefined without a terminal on
   * stdin and stderr, or without an answer. The interrupt key throws `cancelled` and raises SIGINT for all
   * listeners.
   */
  ask(question: Question, options: { signal: AbortSignal }): Promise<string | undefined>;
  /** Uses the whole terminal as a screen; undefined if stdin or stdout is not a terminal. */
  takeScreen(events: ScreenEvents): Screen | undefined;
}

/** Events while a program uses the screen. */
export interface ScreenEvents {
  /** Keys in the terminal's encoding. */
  readonly typed: (keys: string) => void;
  readonly resized: () => void;
  /** The user or the system asks the program to end, or the terminal was closed. */
  readonly stopped: (why: string) => void;
}

/** The whole terminal as one screen, written with `Terminal.out`. Disposing restores it. */
export interface Screen extends AsyncDisposable {
  readonly columns: number;
  readonly rows: number;
}

export interface Question {
  readonly text: string;
  /** Whether the terminal shows the answer while it is typed; false for secrets. */
  readonly echo: boolean;
}

/** The platform's directories for this program. */
export interface Places {
  readonly home: string;
  readonly config: string;
  readonly state: string;
  readonly cache: string;
  /** Sockets and locks; removed at logout if the system supports that. */
  readonly runtime: string;
  /** The runtime directory of an older postern, if postern still looks there. */
  readonly formerRuntime?: string;
  readonly temporary: string;
  /** The root of the system's own files; undefined means "/". Images and tests set it. */
  readonly system?: string;
}

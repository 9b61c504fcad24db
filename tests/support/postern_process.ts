import { sourceCommand } from "../../scripts/postern.ts";
import { placesFor } from "../../src/runtime/files/places.ts";
import type { Places } from "../../src/world/mod.ts";
import { repeatsCannot } from "./one_cause.ts";

/** The result of a command. */
export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandOptions {
  /** Additional variables. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** A command prefix that runs the program: `bash -c 'ulimit -n 64; exec "$@"' bash`. */
  readonly under?: readonly string[];
  /** A program with its first arguments, instead of the one under test. */
  readonly program?: readonly string[];
}

/** A program that runs in a home. */
export interface ProgramRuns {
  run(args: readonly string[], options?: CommandOptions): Promise<Ended>;
  start(args: readonly string[], options?: CommandOptions): Instance;
}

/**
 * A private home for the real program: POSTERN_BIN if it is set, otherwise from source with exactly the
 * permissions of each command. Disposal stops remaining instances and removes the directory.
 */
export class Household implements AsyncDisposable, ProgramRuns {
  readonly directory: string;
  readonly places: Places;
  readonly #env: Readonly<Record<string, string>>;
  readonly #instances: Instance[] = [];
  #hasBackground = false;

  private constructor(directory: string, env: Readonly<Record<string, string>>) {
    this.directory = directory;
    this.#env = env;
    const platform = Deno.build.os === "windows" || Deno.build.os === "darwin" ? Deno.build.os : "linux";
    this.places = placesFor({ platform, env: (name) => env[name], uid: Deno.uid() ?? undefined });
  }

  /** `hasRuntime: false` omits the runtime directory, as after `sudo` or on a machine without systemd. */
  static async open({ hasRuntime = true } = {}): Promise<Household> {
    const directory = await Deno.makeTempDir({ prefix: "pt" });
    const below = (name: string) => `${directory}/${name}`;
    const env: Record<string, string> = {
      HOME: directory,
      XDG_CONFIG_HOME: below("config"),
      XDG_STATE_HOME: below("state"),
      XDG_CACHE_HOME: below("cache"),
      ...(hasRuntime && { XDG_RUNTIME_DIR: below("run") }),
      TMPDIR: below("tmp"),
      PATH: Deno.env.get("PATH") ?? "",
      NO_COLOR: "1",
    };
    for (const name of ["run", "tmp"]) await Deno.mkdir(below(name), { mode: 0o700 });
    if (!compiled()) {
      env.DENO_DIR = await denoDirectory();
      // Deno checks for updates once a day through the configured proxy, which is not a connection of
      // postern.
      env.DENO_NO_UPDATE_CHECK = "1";
    }
    return new Household(directory, env);
  }

  /** Runs a command until it exits. */
  async run(args: readonly string[], options: CommandOptions = {}): Promise<Ended> {
    this.#hasBackground ||= args.includes("--background");
    const { code, stdout, stderr } = await this.#command(args, options).output();
    const text = new TextDecoder();
    const said = text.decode(stderr);
    const error = said.split("\n").find((line) => line.startsWith("postern: error:") && repeatsCannot(line));
    if (error !== undefined) throw new Error(`the error reports one failure twice: ${error}`);
    return { code, stdout: text.decode(stdout), stderr: said };
  }

  /** Starts an instance in the foreground on a free loopback port and resolves when it is ready. */
  async instance(args: readonly string[] = [], options: CommandOptions = {}): Promise<Instance> {
    const instance = this.start(["proxy", "--listen", "127.0.0.1:0", ...args], options);
    await instance.ready;
    return instance;
  }

  /** Starts a command that keeps running. */
  start(args: readonly string[], options: CommandOptions = {}): Instance {
    const instance = new Instance(this.#command(args, options).spawn());
    this.#instances.push(instance);
    return instance;
  }

  /** Returns another program that runs in this home. */
  with(program: readonly string[]): ProgramRuns {
    return {
      run: (args, options = {}) => this.run(args, { ...options, program }),
      start: (args, options = {}) => this.start(args, { ...options, program }),
    };
  }

  /** Writes the configuration file and returns its path. */
  async configure(text: string): Promise<string> {
    const path = `${this.places.config}/config.yaml`;
    await Deno.mkdir(this.places.config, { recursive: true, mode: 0o700 });
    await Deno.writeTextFile(`${path}.new`, text);
    await Deno.rename(`${path}.new`, path);
    return path;
  }

  /** Returns the program with its arguments and environment, for tests that start it themselves. */
  commandLine(
    args: readonly string[],
    { env = {}, under = [], program: other }: CommandOptions = {},
  ): { readonly command: readonly string[]; readonly env: Readonly<Record<string, string>> } {
    const binary = compiled();
    const main = new URL("../../main.ts", import.meta.url).href;
    const set: Readonly<Record<string, string>> = { ...this.#env, ...env };
    if (other) return { command: [...under, ...other, ...args], env: set };
    const [program, before] = binary
      ? [binary, []]
      : [Deno.execPath(), [...sourceCommand(args, this.places, (name) => set[name]), main]];
    return { command: [...under, program, ...before, ...args], env: set };
  }

  #command(args: readonly string[], options: CommandOptions): Deno.Command {
    const { command: [program = "", ...rest], env } = this.commandLine(args, options);
    return new Deno.Command(program, {
      args: rest,
      env: { ...env },
      clearEnv: true,
      cwd: options.cwd ?? this.directory,
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const instance of this.#instances) await instance[Symbol.asyncDispose]();
    // Stop background instances of a failed test; the exit code is 3 if there are none.
    if (this.#hasBackground) await this.run(["stop", "--all"]);
    await Deno.remove(this.directory, { recursive: true });
  }
}

/** A program that runs until a signal stops it. */
export class Instance implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;
  readonly #out: Output;
  readonly #err: Output;
  /** The addresses of the `ready` line. */
  readonly ready: Promise<readonly string[]>;
  readonly ended: Promise<Ended>;
  #hasEnded = false;

  constructor(child: Deno.ChildProcess) {
    this.#child = child;
    this.#out = new Output(child.stdout);
    this.#err = new Output(child.stderr);
    this.ready = this.#out.until(/^ready (.+)\n/m).then((found) => (found[1] ?? "").split(" "));
    // A test that does not await this fails at its next step.
    this.ready.catch(() => {});
    this.ended = this.#end();
  }

  get pid(): number {
    return this.#child.pid;
  }

  /** The output on stderr so far. */
  get stderr(): string {
    return this.#err.text;
  }

  get stdout(): string {
    return this.#out.text;
  }

  /** The first address of the instance, such as `127.0.0.1:12345`. */
  async address(): Promise<string> {
    const first = (await this.ready).find((address) => address.includes("127.0.0.1"));
    const found = /127\.0\.0\.1:[0-9]+/.exec(first ?? "");
    if (!found) throw new Error(`no loopback address among: ${(await this.ready).join(" ")}`);
    return found[0];
  }

  /** Resolves when stderr matches. */
  says(pattern: RegExp): Promise<RegExpExecArray> {
    return this.#err.until(pattern);
  }

  /** Resolves when stdout matches. */
  prints(pattern: RegExp): Promise<RegExpExecArray> {
    return this.#out.until(pattern);
  }

  kill(signal: Deno.Signal): void {
    this.#child.kill(signal);
  }

  async #end(): Promise<Ended> {
    const [{ code }] = await Promise.all([this.#child.status, this.#out.done, this.#err.done]);
    this.#hasEnded = true;
    return { code, stdout: this.#out.text, stderr: this.#err.text };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#hasEnded) {
      try {
        this.#child.kill("SIGKILL");
      } catch (error) {
        // The program has just exited by itself.
        if (!(error instanceof TypeError)) throw error;
      }
    }
    await this.ended;
  }
}

/** The time limit for expected output in ms: long enough for a busy machine. */
const patience = 30_000;

/** The text of an output stream so far, and the pending matches. */
class Output {
  text = "";
  readonly done: Promise<void>;
  #isDone = false;
  #changed = Promise.withResolvers<void>();

  constructor(stream: ReadableStream<Uint8Array>) {
    this.done = this.#collect(stream);
  }

  /** Resolves with the first match; fails when the stream ends or the time limit expires without one. */
  async until(pattern: RegExp): Promise<RegExpExecArray> {
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(
      () => late.reject(new Error(`no output matches ${pattern}: ${this.text}`)),
      patience,
    );
    try {
      while (true) {
        const found = pattern.exec(this.text);
        if (found) return found;
        if (this.#isDone) throw new Error(`ended without ${pattern}: ${this.text}`);
        await Promise.race([this.#changed.promise, late.promise]);
      }
    } finally {
      clearTimeout(timer);
    }
  }

  async #collect(stream: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    for await (const chunk of stream) this.#said(decoder.decode(chunk, { stream: true }));
    this.#isDone = true;
    this.#said(decoder.decode());
  }

  #said(text: string): void {
    this.text += text;
    const { resolve } = this.#changed;
    this.#changed = Promise.withResolvers();
    resolve();
  }
}

/** Returns the compiled program under test; undefined from source. */
export function compiled(): string | undefined {
  return Deno.env.get("POSTERN_BIN") || undefined;
}

let known: Promise<string> | undefined;

/**
 * Returns Deno's cache directory, so that a household with another home does not fetch all packages again.
 */
export function denoDirectory(): Promise<string> {
  return known ??= new Deno.Command(Deno.execPath(), { args: ["info", "--json"] }).output()
    .then(({ stdout }) => JSON.parse(new TextDecoder().decode(stdout)).denoDir);
}

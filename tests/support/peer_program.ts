import type { Ended } from "./postern_process.ts";

export interface PeerOptions {
  /** The whole environment except PATH, so that a peer does not inherit our variables. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** A command prefix that runs the peer. */
  readonly under?: readonly string[];
  /** The time limit until it listens, in ms (default: one minute). */
  readonly patience?: number;
  /** The port of the server (default: a free port). */
  readonly port?: number;
}

/** Runs a peer until it exits; closes stdin after the given input. */
export async function runPeer(
  path: string,
  args: readonly string[],
  { stdin = "", ...options }: PeerOptions & { stdin?: string | Uint8Array<ArrayBuffer> } = {},
): Promise<Ended> {
  const child = command(path, args, { ...options, stdin: "piped" }).spawn();
  const [{ code, stdout, stderr }] = await Promise.all([child.output(), feed(child.stdin, stdin)]);
  const text = new TextDecoder();
  return { code, stdout: text.decode(stdout), stderr: text.decode(stderr) };
}

/** A real server on a free loopback port that accepts connections until it is disposed. */
export class PeerServer implements AsyncDisposable {
  readonly port: number;
  readonly #child: Deno.ChildProcess;
  readonly #said: Promise<string>;
  #hasEnded = false;
  readonly #ended: Promise<void>;

  private constructor(path: string, { args, port, options }: {
    args: readonly string[];
    port: number;
    options: PeerOptions;
  }) {
    this.port = port;
    this.#child = command(path, args, { ...options, stdin: "null" }).spawn();
    this.#said = Promise.all(
      [this.#child.stdout, this.#child.stderr].map((stream) => new Response(stream).text()),
    ).then((texts) => texts.join(""));
    this.#ended = this.#child.status.then(() => void (this.#hasEnded = true));
  }

  /** Starts a server; `args` receives the port. */
  static async start(
    path: string,
    args: (port: number) => readonly string[],
    options: PeerOptions = {},
  ): Promise<PeerServer> {
    const port = options.port ?? freePort();
    const server = new PeerServer(path, { args: args(port), port, options });
    try {
      await server.#untilListening(path, options.patience);
      return server;
    } catch (error) {
      await server[Symbol.asyncDispose]();
      throw error;
    }
  }

  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  get pid(): number {
    return this.#child.pid;
  }

  /** Resolves with the output when the server has exited. */
  get ended(): Promise<string> {
    return this.#ended.then(() => this.#said);
  }

  kill(signal: Deno.Signal): void {
    this.#child.kill(signal);
  }

  async #untilListening(path: string, patience?: number): Promise<void> {
    await eventually(`${path} listens on ${this.address}`, async () => {
      if (this.#hasEnded) throw new Error(`${path} ended: ${await this.#said}`);
      try {
        (await Deno.connect({ hostname: "127.0.0.1", port: this.port })).close();
        return true;
      } catch (error) {
        if (error instanceof Deno.errors.ConnectionRefused) return false;
        throw error;
      }
    }, patience);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#hasEnded) this.#child.kill("SIGKILL");
    await this.#ended;
    await this.#said;
  }
}

/** Repeats a check until it succeeds; fails after `ms` (default: one minute, for busy machines). */
export async function eventually(
  what: string,
  isSo: () => boolean | Promise<boolean>,
  patience = 60_000,
): Promise<void> {
  const end = performance.now() + patience;
  while (!await isSo()) {
    if (performance.now() > end) throw new Error(`never: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/**
 * Returns a port that was free a moment ago. It is below the system's range for automatic ports, so that no
 * other process gets it by chance while a slow program starts. Upstream's Konnectivity also refuses ports
 * from 49152 on.
 */
export function freePort(): number {
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    try {
      Deno.listen({ hostname: "127.0.0.1", port }).close();
      return port;
    } catch (error) {
      if (!(error instanceof Deno.errors.AddrInUse)) throw error;
    }
  }
  throw new Error("no free port from 20000 to 31999");
}

function command(
  path: string,
  args: readonly string[],
  { env = {}, cwd, under = [], stdin }: PeerOptions & { stdin: "piped" | "null" },
): Deno.Command {
  const [first = path, ...rest] = [...under, path, ...args];
  return new Deno.Command(first, {
    args: rest,
    env: { PATH: Deno.env.get("PATH") ?? "", ...env },
    clearEnv: true,
    ...(cwd !== undefined && { cwd }),
    stdin,
    stdout: "piped",
    stderr: "piped",
  });
}

async function feed(
  stdin: WritableStream<Uint8Array>,
  content: string | Uint8Array<ArrayBuffer>,
): Promise<void> {
  const writer = stdin.getWriter();
  try {
    await writer.write(typeof content === "string" ? new TextEncoder().encode(content) : content);
    await writer.close();
  } catch (error) {
    // The program exited without reading all input: its exit code shows the result.
    if (!(error instanceof Deno.errors.BrokenPipe)) throw error;
  }
}

import { placesFor } from "../src/runtime/files/places.ts";
import { findPeers } from "./find_peers.ts";
import type { PeerName } from "./peer_table.ts";
import { sourceCommand } from "./postern.ts";
import { freePort } from "../tests/support/peer_program.ts";

/** A running SOCKS5 server to measure. */
export interface Contender extends AsyncDisposable {
  readonly name: string;
  readonly address: string;
  readonly pid: number;
  /** Milliseconds from its start until it reported ready or accepted a connection. */
  readonly startMs: number;
  /** Options of the load generator (default: use this SOCKS5 proxy and the generator's own origin). */
  readonly way?: readonly string[];
}

/** Makes the load generator connect to a forward instead of a proxy. */
export function asForward(contender: Contender, address = contender.address): Contender {
  return { ...contender, address, way: ["-target", address] };
}

/**
 * Starts postern: `POSTERN_BIN` if it is set, otherwise from source; with `isFromSource` always from source.
 */
export async function startPostern(
  directory: string,
  config: string,
  { isFromSource = false, prepare }: {
    readonly isFromSource?: boolean;
    /** Fills the cache directory before the start. */
    readonly prepare?: (cache: string) => Promise<void>;
  } = {},
): Promise<Contender> {
  const home = await Deno.makeTempDir({ dir: directory });
  // Keep Deno's cache despite another HOME: otherwise every start would measure an empty cache.
  const env: Record<string, string> = {
    HOME: home,
    XDG_RUNTIME_DIR: `${home}/run`,
    XDG_CACHE_HOME: `${home}/.cache`,
    TMPDIR: home,
    DENO_DIR: await denoDirectory(),
  };
  await Deno.mkdir(`${home}/run`, { mode: 0o700 });
  await Deno.writeTextFile(`${home}/config.yaml`, config);
  const args = [
    "proxy",
    "--listen",
    "127.0.0.1:0",
    "--config",
    `${home}/config.yaml`,
    "--log-file",
    `${home}/postern.log`,
  ];
  const compiled = isFromSource ? undefined : Deno.env.get("POSTERN_BIN");
  const platform = Deno.build.os === "darwin" ? "darwin" : "linux";
  const places = placesFor({ platform, env: (name) => env[name], uid: Deno.uid() ?? undefined });
  await prepare?.(places.cache);
  const main = new URL("../main.ts", import.meta.url).href;
  const before = compiled ? [compiled] : [Deno.execPath(), ...sourceCommand(args, places), main];
  return await startReady("postern", [...before, ...args], env);
}

async function denoDirectory(): Promise<string> {
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["info", "--json"] }).output();
  return JSON.parse(new TextDecoder().decode(stdout)).denoDir;
}

/** Starts the installed peers; the stack stops them. */
export async function startPeers(directory: string, stack: AsyncDisposableStack): Promise<Contender[]> {
  const found = await findPeers();
  const contenders: Contender[] = [];
  const add = (contender: Contender) => void contenders.push(stack.use(contender));
  const path = (name: PeerName) => {
    const at = found[name];
    if ("path" in at) return at.path;
    console.log(`skipped: ${name}: ${at.missing}`);
    return undefined;
  };
  const [gosocks5, microsocks, danted] = [path("gosocks5"), path("microsocks"), path("danted")];
  if (gosocks5) add(await startReady("go-socks5", [gosocks5, "127.0.0.1:0"], {}));
  if (microsocks) {
    add(
      await startOnPort("microsocks", (port) => [microsocks, "-i", "127.0.0.1", "-p", `${port}`]),
    );
  }
  if (danted) {
    add(
      await startOnPort("dante", async (port) => {
        const file = `${directory}/danted.conf`;
        await Deno.writeTextFile(file, danteSettings(port, `${directory}/danted.log`));
        return [danted, "-f", file];
      }),
    );
  }
  return contenders;
}

function danteSettings(port: number, log: string): string {
  return `internal: 127.0.0.1 port = ${port}
external: 127.0.0.1
clientmethod: none
socksmethod: none
user.unprivileged: nobody
logoutput: ${log}
client pass { from: 127.0.0.0/8 to: 127.0.0.0/8 }
socks pass { from: 127.0.0.0/8 to: 127.0.0.0/8 }
`;
}

/** Starts a program whose first line on stdout is `ready ADDRESS`. */
export async function startReady(
  name: string,
  [program = "", ...args]: readonly string[],
  env: Record<string, string> = {},
  { stderr = "inherit" }: { readonly stderr?: "inherit" | "null" } = {},
): Promise<Contender> {
  const start = performance.now();
  const child = new Deno.Command(program, { args, env, stdin: "null", stdout: "piped", stderr }).spawn();
  const lines = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let said = "";
  while (!said.includes("\n")) {
    const { value, done } = await lines.read();
    if (done) throw new Error(`Cannot start ${name}: it exited before it was ready`);
    said += value;
  }
  const startMs = performance.now() - start;
  const address = /^ready (\S+)/.exec(said)?.[1]?.replace(/^\w+:\/\//, "");
  if (address === undefined) {
    throw new Error(`Cannot start ${name}: unexpected output ${JSON.stringify(said)}`);
  }
  return running({ name, address, child, startMs }, () => lines.cancel());
}

/**
 * Starts a program that cannot choose its port; another process may take the free port before the program
 * binds it.
 */
export async function startOnPort(
  name: string,
  commandFor: (port: number) => readonly string[] | Promise<readonly string[]>,
  env: Readonly<Record<string, string>> = {},
): Promise<Contender> {
  const port = freePort();
  const [program = "", ...args] = await commandFor(port);
  const start = performance.now();
  const child = new Deno.Command(program, { args, env, stdin: "null", stdout: "null", stderr: "null" })
    .spawn();
  let hasEnded = false;
  child.status.then(() => hasEnded = true);
  while (!await accepts(port)) {
    const isLate = performance.now() - start > 10_000;
    if (isLate && !hasEnded) child.kill();
    if (isLate || hasEnded) throw new Error(`Cannot start ${name}: it does not listen on its port`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return running({ name, address: `127.0.0.1:${port}`, child, startMs: performance.now() - start });
}

async function accepts(port: number): Promise<boolean> {
  try {
    (await Deno.connect({ hostname: "127.0.0.1", port })).close();
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.ConnectionRefused) return false;
    throw error;
  }
}

interface Started {
  readonly name: string;
  readonly address: string;
  readonly child: Deno.ChildProcess;
  readonly startMs: number;
}

function running({ name, address, child, startMs }: Started, close?: () => Promise<void>): Contender {
  let hasEnded = false;
  child.status.then(() => hasEnded = true);
  return {
    name,
    address,
    pid: child.pid,
    startMs,
    async [Symbol.asyncDispose]() {
      const tell = (signal: Deno.Signal) => hasEnded ? undefined : child.kill(signal);
      // SIGTERM lets a server stop its child processes too.
      tell("SIGTERM");
      const impatience = setTimeout(() => tell("SIGKILL"), 5000);
      await close?.();
      await child.status;
      clearTimeout(impatience);
    },
  };
}

import {
  type Frontend,
  KonnectivityLab,
  konnectivityPeers,
  serverArguments,
  untilReady,
} from "../tests/support/konnectivity_lab.ts";
import { startReady } from "./bench_contenders.ts";
import { places } from "./directories.ts";
import { findPeers } from "./find_peers.ts";
import { sourceCommand } from "./postern.ts";
import { freePort } from "../tests/support/peer_program.ts";

/** A server and its agent from the same implementation. */
export interface KonnectivityPair extends AsyncDisposable {
  readonly name: "postern" | "Go";
  /** Options that make konnload use this pair. */
  readonly way: readonly string[];
  readonly pids: { readonly server: number; readonly agent: number };
}

/** Starts pairs that differ only in their implementation. */
export interface KonnectivityBench extends AsyncDisposable {
  /** The load client. */
  readonly load: string;
  /** The address of the origin. */
  readonly origin: string;
  pair(name: KonnectivityPair["name"], frontend: Frontend): Promise<KonnectivityPair>;
}

/** Starts the bench; if a peer is missing, prints the reason and returns undefined. */
export async function startKonnectivityBench(generator: string): Promise<KonnectivityBench | undefined> {
  const found = await findPeers();
  for (const name of [...konnectivityPeers, "konnload"] as const) {
    const at = found[name];
    if (!("missing" in at)) continue;
    console.log(`skipped: konnectivity: ${at.missing}`);
    return undefined;
  }
  const path = (name: keyof typeof found) => {
    const at = found[name];
    return "path" in at ? at.path : "";
  };
  await using stack = new AsyncDisposableStack();
  const lab = stack.use(
    await KonnectivityLab.create({
      konn_server: path("konn_server"),
      konn_agent: path("konn_agent"),
      konn_client: path("konn_client"),
      konn_test_server: path("konn_test_server"),
    }),
  );
  const origin = stack.use(await startReady("origin", [generator, "origin"]));
  const kept = stack.move();
  return {
    load: path("konnload"),
    origin: origin.address,
    pair: (name, frontend) => name === "Go" ? goPair(lab, frontend) : posternPair(lab, frontend),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

async function goPair(lab: KonnectivityLab, frontend: Frontend): Promise<KonnectivityPair> {
  const running = await lab.goServer(frontend);
  const agent = await lab.goAgent(running);
  await untilReady(running.health);
  return {
    name: "Go",
    way: wayTo(lab, frontend, running.front),
    pids: { server: running.server.pid, agent: agent.pid },
    async [Symbol.asyncDispose]() {
      await agent[Symbol.asyncDispose]();
      await running.server[Symbol.asyncDispose]();
    },
  };
}

/** Starts postern from source: compiled with the runtime of the package registry, it cannot run a server. */
async function posternPair(lab: KonnectivityLab, frontend: Frontend): Promise<KonnectivityPair> {
  const [port, agents, health, agentHealth] = [freePort(), freePort(), freePort(), freePort()];
  const socket = `${lab.directory}/${port}.sock`;
  const front = frontend.isSocket ? { path: socket } : { port };
  await using stack = new AsyncDisposableStack();
  const server = stack.use(
    await startCommand("the server", serverArguments(lab, frontend.mode, { front, agents, health })),
  );
  const own = lab.pair("agent", "client");
  const agent = stack.use(
    await startCommand("the agent", [
      ...["konnectivity", "agent"],
      "--proxy-server-host=127.0.0.1",
      `--proxy-server-port=${agents}`,
      "--health-server-host=127.0.0.1",
      `--health-server-port=${agentHealth}`,
      `--ca-cert=${lab.ca("agent")}`,
      `--agent-cert=${own.cert}`,
      `--agent-key=${own.key}`,
    ]),
  );
  await untilReady(health);
  const kept = stack.move();
  return {
    name: "postern",
    way: wayTo(lab, frontend, front),
    pids: { server: server.pid, agent: agent.pid },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

function startCommand(name: string, args: readonly string[]): ReturnType<typeof startReady> {
  const main = new URL("../main.ts", import.meta.url).href;
  const command = [Deno.execPath(), ...sourceCommand(args, places()), main, ...args];
  // Discard postern's log, like the logs of the other programs.
  return startReady(name, command, {}, { stderr: "null" });
}

function wayTo(
  lab: KonnectivityLab,
  { mode }: Frontend,
  front: { readonly port: number } | { readonly path: string },
): string[] {
  if ("path" in front) return ["-mode", mode, "-uds", front.path];
  const { cert, key } = lab.pair("frontend", "client");
  const tls = ["-ca", lab.ca("frontend"), "-cert", cert, "-key", key];
  return ["-mode", mode, "-server", `127.0.0.1:${front.port}`, ...tls];
}

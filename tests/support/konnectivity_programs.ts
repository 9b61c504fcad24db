import { type Conn, Deadlines, type Dial, Tasks, whenAborted } from "../../src/core/mod.ts";
import { KonnectivityAgent } from "../../src/konnectivity/server/agent.ts";
import { serveAgent } from "../../src/konnectivity/server/agent_port.ts";
import { Agents } from "../../src/konnectivity/server/agents.ts";
import type { AgentStrategy } from "../../src/konnectivity/mod.ts";
import { serveConnectFront } from "../../src/konnectivity/server/connect_front.ts";
import { serveGrpcFront } from "../../src/konnectivity/server/grpc_front.ts";
import { createFiles } from "../../src/runtime/files/files.ts";
import { createNetwork } from "../../src/runtime/network/network.ts";
import { systemClock } from "../../src/runtime/system_clock.ts";
import { Konnectivity } from "../../src/transports/mod.ts";
import type { Frontend, KonnectivityLab } from "./konnectivity_lab.ts";

import { recordingLog } from "./recording_log.ts";
import { freePort } from "./peer_program.ts";

/** Our server in this process, without its command line. */
export class OurServer implements AsyncDisposable {
  readonly front: { readonly port: number } | { readonly path: string };
  readonly agents: number;
  readonly known: Agents;
  readonly #tasks: Tasks;
  readonly #closing: (() => void)[];
  readonly #deadlines: Deadlines;

  constructor(
    lab: KonnectivityLab,
    frontend: Frontend,
    { id = "ours", count = 1, strategies = ["default"], dialTimeout = 10_000 }: {
      id?: string;
      count?: number;
      strategies?: readonly AgentStrategy[];
      dialTimeout?: number;
    } = {},
  ) {
    const network = createNetwork();
    const log = recordingLog();
    const clock = systemClock;
    this.known = new Agents({ clock, strategies, dialTimeout, random: Math.random });
    const dial: Dial = async ({ target }, { signal }) => {
      const conn = await this.known.dial(target, { signal });
      return { conn, tally: { up: 0, down: 0 }, finish: () => void conn[Symbol.asyncDispose]() };
    };
    this.#deadlines = new Deadlines(clock);
    const limits = { connections: 1000, handshake: 10_000, halfCloseLinger: 1000 };
    const deps = { dial, clock, log, deadlines: this.#deadlines, limits };
    const tasks = this.#tasks = new Tasks(undefined, (error) => console.error(error));
    const front = network.listen(
      frontend.isSocket
        ? { path: `${lab.directory}/${crypto.randomUUID().slice(0, 8)}.sock` }
        : { host: "127.0.0.1", port: freePort() },
    );
    const agents = network.listen({ host: "127.0.0.1", port: freePort() });
    this.#closing = [() => front.close(), () => agents.close()];
    this.front = "path" in front.endpoint ? front.endpoint : { port: front.endpoint.port };
    this.agents = "port" in agents.endpoint ? agents.endpoint.port : 0;
    const secured = async (
      conn: Conn,
      side: "frontend" | "agent",
      alpn: readonly string[],
      signal: AbortSignal,
    ) => {
      const { cert, key } = lab.pair(side, "server");
      const read = (path: string) => Deno.readTextFile(path);
      const [certText, keyText, clientCa] = await Promise.all([read(cert), read(key), read(lab.ca(side))]);
      return await network.secureAsServer(conn, { cert: certText, key: keyText, clientCa, alpn, signal });
    };
    const accept = (listening: typeof front, serve: (conn: Conn, signal: AbortSignal) => Promise<void>) =>
      tasks.spawn(async () => {
        for (let conn; (conn = await listening.accept());) {
          const client = conn;
          tasks.spawn(async (signal) => {
            using _drop = whenAborted(signal, () => client.abort(signal.reason));
            await serve(client, signal).catch(() => {});
          });
        }
      });
    accept(front, async (conn, signal) => {
      const isGrpc = frontend.mode === "grpc";
      const ready = frontend.isSocket ? conn : await secured(conn, "frontend", isGrpc ? ["h2"] : [], signal);
      await (isGrpc ? serveGrpcFront : serveConnectFront)(ready, deps, { signal });
    });
    accept(agents, async (conn, signal) => {
      const ready = await secured(conn, "agent", ["h2"], signal);
      await serveAgent(ready, { agents: this.known, clock, log, server: { id, count: () => count } }, {
        signal,
      });
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const close of this.#closing) close();
    this.#deadlines[Symbol.dispose]();
    await this.#tasks[Symbol.asyncDispose]();
  }
}

/** Our agent in this process, connected to a server. */
export class OurAgent implements AsyncDisposable {
  readonly agent: KonnectivityAgent;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor(
    lab: KonnectivityLab,
    server: { readonly agents: number },
    { id = "ours", identifiers = "" } = {},
  ) {
    const network = createNetwork();
    this.agent = new KonnectivityAgent({
      clock: systemClock,
      log: recordingLog(),
      id,
      identifiers,
      authority: `127.0.0.1:${server.agents}`,
      halfCloseLinger: 30_000,
      most: 1000,
      retry: { first: 100, most: 1000 },
      random: Math.random,
      dial: async ({ target: { host, port } }, { signal }) => {
        const conn = await network.connect({ host, port }, { signal });
        return { conn, tally: { up: 0, down: 0 }, finish: () => void conn[Symbol.asyncDispose]() };
      },
      connect: async ({ signal }) => {
        const conn = await network.connect({ host: "127.0.0.1", port: server.agents }, { signal });
        const { cert, key } = lab.pair("agent", "client");
        const [certText, keyText, ca] = await Promise.all(
          [cert, key, lab.ca("agent")].map((path) => Deno.readTextFile(path)),
        );
        const pem = { cert: certText ?? "", key: keyText ?? "", ca: ca ?? "" };
        return await network.secure(conn, { serverName: "127.0.0.1", alpn: ["h2"], ...pem, signal });
      },
    });
    const { signal } = this.#stop;
    this.#running = this.agent.run({ signal }).catch((error) => {
      if (!signal.aborted) throw error;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error("the test has ended"));
    await this.#running;
  }
}

/** Our client for any server. */
export function konnectivityClient(
  lab: KonnectivityLab,
  frontend: Frontend,
  front: OurServer["front"],
): Konnectivity {
  const network = createNetwork();
  const server = "path" in front ? front : { target: { host: "127.0.0.1", port: front.port } };
  const tls = "path" in front ? {} : { ca: lab.ca("frontend"), ...lab.pair("frontend", "client") };
  return new Konnectivity({ mode: frontend.mode, server, ...tls }, {
    name: "far",
    network,
    dialer: (target, options) => network.connect(target, options),
    files: createFiles(systemClock),
    clock: systemClock,
  });
}

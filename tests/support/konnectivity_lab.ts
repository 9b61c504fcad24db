import { writeCertificates } from "../../src/roles/mod.ts";
import { createFiles } from "../../src/runtime/files/files.ts";
import { systemClock } from "../../src/runtime/system_clock.ts";
import { eventually, freePort, PeerServer, runPeer } from "./peer_program.ts";
import type { PeerPaths } from "./peers.ts";

/** The required peers. */
export const konnectivityPeers = [
  "konn_server",
  "konn_agent",
  "konn_client",
  "konn_test_server",
] as const;

/** The protocol and carrier of a frontend. */
export interface Frontend {
  readonly mode: "grpc" | "http-connect";
  readonly isSocket: boolean;
}

/** The four kinds of frontends. */
export const frontends: readonly (Frontend & { name: string })[] = [
  { name: "gRPC over TLS", mode: "grpc", isSocket: false },
  { name: "gRPC over a socket", mode: "grpc", isSocket: true },
  { name: "CONNECT over TLS", mode: "http-connect", isSocket: false },
  { name: "CONNECT over a socket", mode: "http-connect", isSocket: true },
];

/** The owner of certificates: clients and frontend, agents and their port, or an unknown party. */
export type Side = "frontend" | "agent" | "stranger";

/** A certificate with its key, as files. */
export interface Pair {
  readonly cert: string;
  readonly key: string;
}

/** Certificates, upstream's programs, and a page for them to fetch. */
export class KonnectivityLab implements AsyncDisposable {
  readonly directory: string;
  readonly #paths: PeerPaths<typeof konnectivityPeers[number]>;
  readonly #running: AsyncDisposable[] = [];

  private constructor(directory: string, paths: PeerPaths<typeof konnectivityPeers[number]>) {
    this.directory = directory;
    this.#paths = paths;
  }

  static async create(paths: PeerPaths<typeof konnectivityPeers[number]>): Promise<KonnectivityLab> {
    const lab = new KonnectivityLab(await Deno.makeTempDir({ prefix: "konn" }), paths);
    const world = { clock: systemClock, files: createFiles(systemClock) };
    for (const whose of ["certs", "strangers"]) {
      const directory = `${lab.directory}/${whose}`;
      await writeCertificates({ directory, names: ["konnectivity-server-local"], days: 2 }, world);
    }
    return lab;
  }

  ca(side: Side): string {
    return `${this.#certificates(side)}/issued/ca.crt`;
  }

  pair(side: Side, role: "server" | "client"): Pair {
    const directory = this.#certificates(side);
    const client = side === "agent" ? "proxy-agent" : "proxy-client";
    const name = role === "server" ? "proxy-frontend" : client;
    return { cert: `${directory}/issued/${name}.crt`, key: `${directory}/private/${name}.key` };
  }

  #certificates(side: Side): string {
    return side === "stranger" ? `${this.directory}/strangers/frontend` : `${this.directory}/certs/${side}`;
  }

  /** Replaces the certificates; authorities and keys stay. */
  async renew(
    { days = 2, clock = systemClock }: { days?: number; clock?: typeof systemClock } = {},
  ): Promise<void> {
    const wish = { directory: `${this.directory}/certs`, names: [], days, renews: "all" } as const;
    await writeCertificates(wish, { clock, files: createFiles(systemClock) });
  }

  /** Creates an expired client certificate of the right CA. */
  async expiredPair(side: "frontend" | "agent"): Promise<Pair> {
    const { cert, key } = this.pair(side, "client");
    const expired = `${this.directory}/${side}-expired.crt`;
    const date = () => new Date(Date.now() - 10 * 24 * 3600 * 1000);
    await this.renew({ days: 1, clock: { ...systemClock, date } });
    await Deno.copyFile(cert, expired);
    await this.renew();
    return { cert: expired, key };
  }

  /** Starts one of upstream's programs that listens on `port`. */
  async #start(path: string, args: readonly string[], port: number): Promise<PeerServer> {
    const server = await PeerServer.start(path, () => args, { port, env: { GODEBUG: "asyncpreemptoff=1" } });
    this.#running.push(server);
    return server;
  }

  /** Starts the page of upstream's own tests and returns its port. */
  async page(): Promise<number> {
    const port = freePort();
    await this.#start(this.#paths.konn_test_server, [`--server-port=${port}`], port);
    return port;
  }

  /**
   * `sockets` is the directory of the frontend's socket (default: the lab's directory); `ports` are those of
   * the frontend, the agents, health and administration.
   */
  async goServer(
    frontend: Frontend,
    { more = [], sockets = this.directory, ports = plainPorts() }: {
      more?: readonly string[];
      sockets?: string;
      ports?: ServerPorts;
    } = {},
  ): Promise<RunningServer & { readonly server: PeerServer }> {
    const [port, agents, health, admin] = ports;
    const socket = `${sockets}/${port}.sock`;
    const { cert, key } = this.pair("frontend", "server");
    const tls = [`--server-ca-cert=${this.ca("frontend")}`, `--server-cert=${cert}`, `--server-key=${key}`];
    const cluster = this.pair("agent", "server");
    const server = await this.#start(this.#paths.konn_server, [
      `--mode=${frontend.mode}`,
      ...frontend.isSocket ? ["--server-port=0", `--uds-name=${socket}`] : [`--server-port=${port}`, ...tls],
      `--agent-port=${agents}`,
      `--health-port=${health}`,
      `--admin-port=${admin}`,
      "--server-bind-address=127.0.0.1",
      "--agent-bind-address=127.0.0.1",
      "--health-bind-address=127.0.0.1",
      `--cluster-ca-cert=${this.ca("agent")}`,
      `--cluster-cert=${cluster.cert}`,
      `--cluster-key=${cluster.key}`,
      ...more,
    ], health);
    return { server, front: frontend.isSocket ? { path: socket } : { port }, agents, health };
  }

  async goAgent(server: { readonly agents: number }, more: readonly string[] = []): Promise<PeerServer> {
    const [health, admin] = [freePort(), freePort()];
    const { cert, key } = this.pair("agent", "client");
    return await this.#start(this.#paths.konn_agent, [
      "--proxy-server-host=127.0.0.1",
      `--proxy-server-port=${server.agents}`,
      "--health-server-host=127.0.0.1",
      `--health-server-port=${health}`,
      `--admin-server-port=${admin}`,
      `--ca-cert=${this.ca("agent")}`,
      `--agent-cert=${cert}`,
      `--agent-key=${key}`,
      ...more,
    ], health);
  }

  /** Fetches a page with upstream's client and returns its output. */
  async goClient(
    frontend: Frontend,
    front: RunningServer["front"],
    { port, more = [] }: { port: number; more?: readonly string[] },
  ): Promise<{ code: number; said: string }> {
    const { cert, key } = this.pair("frontend", "client");
    const way = "path" in front ? ["--proxy-host=", "--proxy-port=0", `--proxy-uds=${front.path}`] : [
      "--proxy-host=127.0.0.1",
      `--proxy-port=${front.port}`,
      `--ca-cert=${this.ca("frontend")}`,
      `--client-cert=${cert}`,
      `--client-key=${key}`,
    ];
    const { code, stdout, stderr } = await runPeer(this.#paths.konn_client, [
      "--request-host=127.0.0.1",
      `--request-port=${port}`,
      `--mode=${frontend.mode}`,
      ...way,
      ...more,
    ], { env: { GODEBUG: "asyncpreemptoff=1" } });
    return { code, said: stdout + stderr };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const program of this.#running.reverse()) await program[Symbol.asyncDispose]();
    await Deno.remove(this.directory, { recursive: true });
  }
}

/** The ports of an upstream server: frontend, agents, health, administration. */
export type ServerPorts = readonly [front: number, agents: number, health: number, admin: number];

/** Returns free ports. */
export function plainPorts(): ServerPorts {
  return [freePort(), freePort(), freePort(), freePort()];
}

/** The listen addresses of our server. */
export interface ServerPlaces {
  /** The frontend: a port, or a socket. */
  readonly front: { readonly port: number } | { readonly path: string };
  readonly agents: number;
  readonly health: number;
}

/** Returns the arguments of `postern konnectivity server` on loopback. */
export function serverArguments(
  lab: KonnectivityLab,
  mode: Frontend["mode"],
  { front, agents, health }: ServerPlaces,
): string[] {
  const own = lab.pair("frontend", "server"), back = lab.pair("agent", "server");
  const tls = [
    `--server-ca-cert=${lab.ca("frontend")}`,
    `--server-cert=${own.cert}`,
    `--server-key=${own.key}`,
  ];
  return [
    ...["konnectivity", "server", `--mode=${mode}`, `--agent-port=${agents}`, `--health-port=${health}`],
    ..."path" in front
      ? ["--server-port=0", `--uds-name=${front.path}`]
      : [`--server-port=${front.port}`, ...tls],
    ...["server", "agent", "health"].map((side) => `--${side}-bind-address=127.0.0.1`),
    ...[`--cluster-ca-cert=${lab.ca("agent")}`, `--cluster-cert=${back.cert}`, `--cluster-key=${back.key}`],
  ];
}

/** A running server with its addresses and its health port. */
export interface RunningServer {
  readonly server: PeerServer;
  readonly front: { readonly port: number } | { readonly path: string };
  readonly agents: number;
  readonly health: number;
}

/** Waits until a server or an agent reports ready. */
export async function untilReady(health: number, path = "/readyz"): Promise<void> {
  await eventually(`127.0.0.1:${health}${path} says ok`, async () => {
    try {
      const answer = await fetch(`http://127.0.0.1:${health}${path}`);
      await answer.body?.cancel();
      return answer.ok;
    } catch (error) {
      if (error instanceof TypeError) return false;
      throw error;
    }
  });
}

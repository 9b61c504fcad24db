import assert from "node:assert/strict";
import { KonnectivityLab, konnectivityPeers, serverArguments } from "../support/konnectivity_lab.ts";
import { konnectivityClient, OurAgent } from "../support/konnectivity_programs.ts";
import { isLongRun } from "../support/long_runs.ts";
import { readAll } from "../support/memory_conn.ts";
import { eventually, freePort } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import { Household, type Instance } from "../support/postern_process.ts";
import { TcpBalancer } from "../support/tcp_balancer.ts";

const { signal } = new AbortController();
const byTls = { mode: "grpc", isSocket: false } as const;
/** The duration of each phase: both servers, one of them, both again. */
const part = isLongRun() ? 40_000 : 3000;
const atOnce = 4;

/** A server in a separate process, and the results of its readiness probe. */
class ProbedServer {
  readonly ports = { front: freePort(), agents: freePort(), health: freePort() };
  readonly #id: string;
  #process: Instance | undefined;
  isReady = false;
  #failed = 0;

  constructor(id: string) {
    this.#id = id;
  }

  async start(home: Household, lab: KonnectivityLab): Promise<void> {
    const { front, agents, health } = this.ports;
    const places = { front: { port: front }, agents, health };
    const many = [`--server-id=${this.#id}`, "--server-count=2"];
    this.#process = home.start([...serverArguments(lab, "grpc", places), ...many]);
    await this.#process.ready;
  }

  async kill(): Promise<void> {
    this.#process?.kill("SIGKILL");
    await this.#process?.ended;
  }

  /** Judges probes like Kubernetes: after three failures in a row, the server is unready. */
  async probe(): Promise<void> {
    const isOk = await fetch(`http://127.0.0.1:${this.ports.health}/readyz`).then(async (answer) => {
      await answer.body?.cancel();
      return answer.ok;
    }, () => false);
    this.#failed = isOk ? 0 : this.#failed + 1;
    this.isReady = isOk || this.isReady && this.#failed < 3;
  }
}

interface Failure {
  readonly from: number;
  readonly to: number;
  /** The server port of the last connection; undefined if no server accepted it. */
  readonly through: number | undefined;
  readonly why: string;
}

/**
 * Clients that dial repeatedly with a new connection each time. Each has its own balancer and dials
 * sequentially, so the server of each dial is known.
 */
class Load implements AsyncDisposable {
  readonly failures: Failure[] = [];
  dials = 0;
  #isOver = false;
  readonly #balancers: readonly TcpBalancer[];
  readonly #working: Promise<unknown>;

  constructor(balancers: readonly TcpBalancer[], dial: (port: number) => Promise<void>) {
    this.#balancers = balancers;
    this.#working = Promise.all(balancers.map((balancer) => this.#work(balancer, dial)));
  }

  async #work({ port, given }: TcpBalancer, dial: (port: number) => Promise<void>): Promise<void> {
    while (!this.#isOver) {
      const from = performance.now();
      const before = given.length;
      this.dials++;
      try {
        await dial(port);
      } catch (error) {
        const through = given.slice(before).at(-1);
        this.failures.push({ from, to: performance.now(), through, why: String(error) });
      }
    }
  }

  /** The number of connections that a server got so far. */
  givenTo(server: number): number {
    return this.#balancers.reduce(
      (sum, { given }) => sum + given.filter((port) => port === server).length,
      0,
    );
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await this.#working;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
  }
}

peerTest(
  "two servers and three agents behind a balancer: when one server is killed and returns, no other dial fails",
  konnectivityPeers,
  async (paths) => {
    await using lab = await KonnectivityLab.create(paths);
    await using home = await Household.open();
    const page = await lab.page();
    const servers = [new ProbedServer("first"), new ProbedServer("second")] as const;
    for (const server of servers) await server.start(home, lab);

    await using agentBalancer = new TcpBalancer(
      servers.map(({ ports }) => ({ port: ports.agents, isReady: () => true })),
    );
    await using balancers = new AsyncDisposableStack();
    const fronts = servers.map((server) => ({ port: server.ports.front, isReady: () => server.isReady }));
    const frontBalancers = Array.from({ length: atOnce }, () => balancers.use(new TcpBalancer(fronts)));
    await using agents = new AsyncDisposableStack();
    const joined = ["a", "b", "c"].map((id) =>
      agents.use(new OurAgent(lab, { agents: agentBalancer.port }, { id }))
    );
    const haveBoth = () => joined.every(({ agent }) => agent.servers.length === 2);
    await eventually("each agent has connected to both servers through one address", haveBoth);
    const probe = () => Promise.all(servers.map((server) => server.probe()));
    const probing = setInterval(probe, 100);
    try {
      await eventually("both are ready", () => servers.every(({ isReady }) => isReady));

      await using load = new Load(frontBalancers, async (port) => {
        await using client = konnectivityClient(lab, byTls, { port });
        await using conn = await client.dial({ host: "127.0.0.1", port: page }, { signal });
        await conn.write(new TextEncoder().encode("GET /success HTTP/1.0\r\nHost: a\r\n\r\n"));
        const text = new TextDecoder().decode(await readAll(conn));
        if (!text.includes("success test page")) throw new Error(`no page: ${JSON.stringify(text)}`);
      });
      const [, killed] = servers;
      const after = (what: string, ms: number) => {
        const end = performance.now() + ms;
        return eventually(what, () => performance.now() > end, ms + 60_000);
      };
      await after("both have served", part);
      const kill = { from: performance.now(), to: 0 };
      await killed.kill();
      kill.to = performance.now();
      await after("one has served", part);
      await killed.start(home, lab);
      await eventually("each agent has connected to it again", haveBoth);
      await eventually("it is ready again", () => killed.isReady);
      const before = load.givenTo(killed.ports.front);
      assert.ok(before > 0, "the killed server had handled dials");
      await after("both have served again", part);
      await load.end();

      const wasInFlight = ({ from, to, through }: Failure) =>
        through === killed.ports.front && from <= kill.to && to >= kill.from;
      const lost = load.failures.filter((failure) => !wasInFlight(failure));
      const told = `${lost.length} of ${load.dials} dials were lost; the kill: ${JSON.stringify(kill)}`;
      assert.deepEqual(lost, [], told);
      assert.ok(load.givenTo(killed.ports.front) > before, "the restarted server handles dials");
    } finally {
      clearInterval(probing);
    }
  },
);

import assert from "node:assert/strict";
import {
  KonnectivityLab,
  konnectivityPeers,
  plainPort,
  serverArguments,
} from "../support/konnectivity_lab.ts";
import { konnectivityClient, OurAgent } from "../support/konnectivity_programs.ts";
import { isLongRun } from "../support/long_runs.ts";
import { readAll } from "../support/memory_conn.ts";
import { eventually } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import { type Door, Household } from "../support/postern_process.ts";
import { TcpBalancer } from "../support/tcp_balancer.ts";

const { signal } = new AbortController();
const byTls = { mode: "grpc", isSocket: false } as const;
/** How long each part of the load takes: both servers, one of them, both again. */
const part = isLongRun() ? 40_000 : 3000;
const atOnce = 4;

/** A server in a process of its own, and what a readiness probe says of it. */
class ProbedServer {
  readonly ports = { front: plainPort(), agents: plainPort(), health: plainPort() };
  readonly #id: string;
  #process: Door | undefined;
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

  /** As probes of Kubernetes are judged: three failures in a row make it unready. */
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
  readonly why: string;
}

/** Clients that dial over and over, each time by a connection of their own. */
class Load {
  readonly failures: Failure[] = [];
  dials = 0;
  #isOver = false;
  readonly #working: Promise<void>[];

  constructor(dial: () => Promise<void>) {
    this.#working = Array.from({ length: atOnce }, () => this.#work(dial));
  }

  async #work(dial: () => Promise<void>): Promise<void> {
    while (!this.#isOver) {
      const from = performance.now();
      this.dials++;
      try {
        await dial();
      } catch (error) {
        this.failures.push({ from, to: performance.now(), why: String(error) });
      }
    }
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#working);
  }
}

peerTest(
  "two servers and three agents behind a balancer: one server is killed and comes back, and no other dial is lost",
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
    await using frontBalancer = new TcpBalancer(
      servers.map((server) => ({ port: server.ports.front, isReady: () => server.isReady })),
    );
    await using agents = new AsyncDisposableStack();
    const joined = ["a", "b", "c"].map((id) =>
      agents.use(new OurAgent(lab, { agents: agentBalancer.port }, { id }))
    );
    const haveBoth = () => joined.every(({ agent }) => agent.servers.length === 2);
    await eventually("each agent has found both servers through one address", haveBoth);
    const probe = () => Promise.all(servers.map((server) => server.probe()));
    const probing = setInterval(probe, 100);
    try {
      await eventually("both are ready", () => servers.every(({ isReady }) => isReady));

      const load = new Load(async () => {
        await using client = konnectivityClient(lab, byTls, { port: frontBalancer.port });
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
      await eventually("each agent has found it again", haveBoth);
      await eventually("it is ready again", () => killed.isReady);
      const before = frontBalancer.given.get(killed.ports.front) ?? 0;
      await after("both have served again", part);
      await load.end();

      const lost = load.failures.filter(({ from, to }) => !(from <= kill.to && to >= kill.from));
      assert.deepEqual(
        lost,
        [],
        `${lost.length} of ${load.dials} dials were lost; the kill: ${JSON.stringify(kill)}`,
      );
      assert.ok(load.failures.length <= atOnce, "more dials failed than were in flight");
      assert.ok((frontBalancer.given.get(killed.ports.front) ?? 0) > before, "the one that came back serves");
      console.log(`${load.dials} dials, ${load.failures.length} in flight on the killed server failed`);
    } finally {
      clearInterval(probing);
    }
  },
);

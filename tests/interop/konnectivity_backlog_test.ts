import assert from "node:assert/strict";
import { agentCommand } from "../support/konnectivity_commands.ts";
import { frontends, KonnectivityLab, konnectivityPeers } from "../support/konnectivity_lab.ts";
import { konnectivityClient, OurServer } from "../support/konnectivity_programs.ts";
import { connectFront } from "../support/konnectivity_raw.ts";
import { isLongRun } from "../support/long_runs.ts";
import { eventually } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import { Household } from "../support/postern_process.ts";

const { signal } = new AbortController();
const [, grpc, , connect] = frontends;
assert.ok(grpc && connect);
/** How long, in ms, a dial may take that an agent gives up after five seconds. */
const mostWait = isLongRun() ? 7000 : 45_000;

/** A target that accepts nobody, and whose queue of those who wait is full. */
class FullTarget implements AsyncDisposable {
  readonly port: number;
  readonly #listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  readonly #waiting: Deno.Conn[] = [];
  #last: Promise<void> | undefined;

  private constructor() {
    this.port = (this.#listener.addr as Deno.NetAddr).port;
  }

  static async create(): Promise<FullTarget> {
    const target = new FullTarget();
    while (await target.#takesOneMore());
    return target;
  }

  async #takesOneMore(): Promise<boolean> {
    assert.ok(this.#waiting.length < 10_000, "the queue has no end");
    const connecting = Deno.connect({ hostname: "127.0.0.1", port: this.port }).then(
      (conn) => void this.#waiting.push(conn),
    );
    this.#last = connecting;
    const { promise: late, resolve } = Promise.withResolvers<boolean>();
    const timer = setTimeout(resolve, 2000, false);
    try {
      return await Promise.race([connecting.then(() => true), late]);
    } finally {
      clearTimeout(timer);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    // The one that still tries is refused now.
    await this.#last?.catch(() => {});
    for (const conn of this.#waiting) conn.close();
  }
}

for (const whose of ["postern", "Go"] as const) {
  peerTest(
    `check 13: a target whose backlog is full is given up after five seconds, and told as that: ${whose} agent`,
    konnectivityPeers,
    async (paths) => {
      await using lab = await KonnectivityLab.create(paths);
      await using home = await Household.open();
      await using target = await FullTarget.create();
      await using byGrpc = new OurServer(lab, grpc, { dialTimeout: 60_000 });
      await using byConnect = new OurServer(lab, connect, { dialTimeout: 60_000 });
      for (const server of [byGrpc, byConnect]) {
        if (whose === "Go") await lab.goAgent(server);
        else await agentCommand(home, lab, { agents: server.agents });
        await eventually("an agent has joined", () => server.known.isReady);
      }
      await using client = konnectivityClient(lab, grpc, byGrpc.front);
      const from = performance.now();
      const to = `127.0.0.1:${target.port}`;
      await Promise.all([
        assert.rejects(client.dial({ host: "127.0.0.1", port: target.port }, { signal }), {
          code: "timeout",
        }),
        (async () => {
          await using conn = await connectFront(byConnect);
          await conn.write(new TextEncoder().encode(`CONNECT ${to} HTTP/1.1\r\nHost: ${to}\r\n\r\n`));
          const into = new Uint8Array(4096);
          const said = new TextDecoder().decode(into.subarray(0, await conn.read(into) ?? 0));
          assert.match(said, /^HTTP\/1\.1 504 [^]*timeout/);
        })(),
      ]);
      const took = performance.now() - from;
      assert.ok(took > 4000 && took < mostWait, `${Math.round(took)} ms`);
    },
  );
}

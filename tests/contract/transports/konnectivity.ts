import assert from "node:assert/strict";
import { type Conn, Deadlines, type Dial } from "../../../src/core/mod.ts";
import type { Target } from "../../../src/words/mod.ts";
import { KonnectivityAgent } from "../../../src/konnectivity/server/agent.ts";
import { serveAgent } from "../../../src/konnectivity/server/agent_port.ts";
import { Agents } from "../../../src/konnectivity/server/agents.ts";
import { serveConnectFront } from "../../../src/konnectivity/server/connect_front.ts";
import { serveGrpcFront } from "../../../src/konnectivity/server/grpc_front.ts";
import type { KonnectivityMode } from "../../../src/konnectivity/client/konnectivity_settings.ts";
import { Direct } from "../../../src/transports/mod.ts";
import { keepsNothing, type TransportTried } from "../transport_contract.ts";
import { Surroundings } from "./surroundings.ts";

export function konnectivity(): readonly TransportTried[] {
  const tried = (mode: KonnectivityMode, cannot: TransportTried["cannot"] = {}): TransportTried => ({
    name: `konnectivity (${mode})`,
    kind: "konnectivity",
    of: "Konnectivity",
    codes: { refused: "refused", unknown: "name_not_found" },
    open: async () => {
      const all = new Surroundings();
      const { network, clock, log } = all;
      const agents = new Agents({ clock, strategies: ["default"], dialTimeout: 5000, random: () => 0 });
      const deadlines = new Deadlines(clock);
      const limits = { connections: 100, handshake: 5000, halfCloseLinger: 5000 };
      const dialBy =
        (dial: (target: Target, options: { signal: AbortSignal }) => Promise<Conn>): Dial =>
        async ({ target }, options) => {
          const conn = await dial(target, options);
          return { conn, tally: { up: 0, down: 0 }, finish: () => void conn[Symbol.asyncDispose]() };
        };
      const deps = {
        dial: dialBy((target, options) => agents.dial(target, options)),
        clock,
        log,
        deadlines,
        limits,
      };
      const [front, port] = [{ host: "192.0.2.60", port: 8090 }, { host: "192.0.2.60", port: 8091 }];
      const serveFront = mode === "grpc" ? serveGrpcFront : serveConnectFront;
      const listening = all.serve(front, (conn, signal) => serveFront(conn, deps, { signal }));
      all.serve(
        port,
        (conn, signal) =>
          serveAgent(conn, { agents, clock, log, server: { id: "a", count: () => 1 } }, { signal }),
      );
      const farSide = new Direct({ network, clock });
      const agent = new KonnectivityAgent({
        ...{
          clock,
          log,
          id: "agent",
          authority: "server:8091",
          identifiers: "",
          halfCloseLinger: 5000,
          most: 100,
        },
        retry: { first: 1000, most: 10_000 },
        random: () => 0,
        connect: (options) => network.connect(port, options),
        dial: dialBy((target, options) => farSide.dial(target, options)),
      });
      const stop = new AbortController();
      const running = agent.run({ signal: stop.signal }).catch((error) =>
        assert.ok(stop.signal.aborted, `${error}`)
      );
      all.after(async () => {
        stop.abort();
        let isOver = false;
        const ended = running.finally(() => isOver = true);
        // The transport sends a final packet with a short delay.
        while (!isOver) await clock.advance(100);
        await ended;
        deadlines[Symbol.dispose]();
      });
      while (!agents.isReady) await clock.advance(1);
      // The sessions of the gRPC frontend and of the agent carry all dials.
      const sessions = ["192.0.2.60:8091", ...mode === "grpc" ? ["192.0.2.60:8090"] : []];
      return all.build({ it: { kind: "konnectivity", settings: { mode, server: { target: front } } } }, {
        open: () => network.openTo((address) => !sessions.includes(address)),
        cut: () => listening.close(),
      });
    },
    cannot,
  });
  return [
    tried("grpc"),
    tried("http-connect", keepsNothing),
  ];
}

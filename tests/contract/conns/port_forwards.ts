import { setImmediate as nextTurn } from "node:timers/promises";
import { ForwardPool } from "../../../src/kube/forward/forward_pool.ts";
import type { ForwardForm } from "../../../src/kube/forward/forward_forms.ts";
import { RetriedConn } from "../../../src/kube/forward/retried_conn.ts";
import { systemClock } from "../../../src/runtime/system_clock.ts";
import { serviceRecord, sliceRecord } from "../../support/fake_cluster_view.ts";
import { ForwardStandIn, PodEnds } from "../../support/forward_stand_in.ts";
import { memoryPair } from "../../support/memory_conn.ts";
import { standInLink } from "../../support/stand_in_link.ts";
import { type ConnKind, type Pair, withoutOwnEnd } from "../conn_contract.ts";

const { signal } = new AbortController();

export function portForwards(): readonly ConnKind[] {
  const inSession = { of: "ForwardStream", madeBy: ["src/kube/forward/forward_session.ts"] };
  return [
    {
      ...inSession,
      name: "a port-forward by SPDY over a WebSocket",
      open: () => forward("websocket"),
    },
    { ...inSession, name: "a port-forward by SPDY", open: () => forward("spdy") },
    {
      ...inSession,
      name: "a port-forward in pieces of 999 bytes",
      open: () => forward("websocket", { piece: 999 }),
    },
    {
      name: "a port-forward by v4.channel.k8s.io",
      of: "ForwardStream",
      madeBy: ["src/kube/forward/forward_v4.ts"],
      open: () => forward("v4"),
      cannot: withoutOwnEnd("the end of one direction of the WebSocket ends both"),
    },
    {
      name: "a connection into a cluster, by the name of a Service",
      of: "RetriedConn",
      madeBy: ["src/kube/forward/cluster_tries.ts"],
      open: async () => {
        const pod = new PodEnds();
        const parts = {
          services: [serviceRecord({ namespace: "shop", name: "web" })],
          slices: { "shop/web": [sliceRecord(["web-0"], 8080)] },
        };
        const { link } = standInLink({ parts, connect: pod.connect, realClock: systemClock });
        const near = await link.dial({ host: "web.shop.svc", port: 80 }, { signal });
        while (pod.ends.length === 0) await nextTurn();
        return { near, far: pod.last, close: () => link[Symbol.asyncDispose]() };
      },
    },
    {
      name: "RetriedConn on its second attempt",
      of: "RetriedConn",
      madeBy: [],
      open: async () => {
        const [failed, gone] = memoryPair();
        const [second, far] = memoryPair();
        gone.abort(new Error("gone"));
        const near = new RetriedConn({ first: failed, next: () => Promise.resolve(second) });
        await near.write(Uint8Array.of(1));
        await far.read(new Uint8Array(1));
        return { near, far };
      },
    },
  ];
}

async function forward(form: ForwardForm, { piece }: { piece?: number } = {}): Promise<Pair> {
  const pod = new PodEnds();
  const api = new ForwardStandIn({
    forms: [form],
    connect: pod.connect,
    ...(piece !== undefined && { piece }),
  });
  const pool = new ForwardPool({ clock: systemClock, api, halfClose: "pass" });
  const near = await pool.open({ namespace: "shop", pod: "web-0", port: 80 }, { signal });
  // The first bytes open the streams, or a short delay.
  while (pod.ends.length === 0) await nextTurn();
  const close = async () => {
    await pool[Symbol.asyncDispose]();
    for (const connection of api.connections) {
      connection.close();
      await connection.done;
    }
  };
  return { near, far: pod.last, close };
}

import { setImmediate as nextTurn } from "node:timers/promises";
import { ForwardPool } from "../../src/kube/forward/forward_pool.ts";
import { systemClock } from "../../src/runtime/system_clock.ts";
import type { ForwardForm } from "../../src/kube/forward/forward_forms.ts";
import { RetriedConn } from "../../src/kube/forward/retried_conn.ts";
import { serviceRecord, sliceRecord } from "../support/fake_cluster_view.ts";
import { ForwardStandIn, PodEnds } from "../support/forward_stand_in.ts";
import { memoryPair } from "../support/memory_conn.ts";
import { standInLink } from "../support/stand_in_link.ts";
import { connContract, type Pair } from "./conn_contract.ts";

const signal = new AbortController().signal;

async function forward(form: ForwardForm, { piece }: { piece?: number } = {}): Promise<Pair> {
  const pod = new PodEnds();
  const api = new ForwardStandIn({
    forms: [form],
    connect: pod.connect,
    ...(piece !== undefined && { piece }),
  });
  const pool = new ForwardPool({ clock: systemClock, api, halfClose: "pass" });
  const near = await pool.open({ namespace: "shop", pod: "web-0", port: 80 }, { signal });
  // The streams are opened with the first bytes, or a moment later.
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

connContract("a port-forward by SPDY over a WebSocket", () => forward("websocket"));
connContract("a port-forward by SPDY", () => forward("spdy"));
connContract("a port-forward in pieces of 999 bytes", () => forward("websocket", { piece: 999 }));
connContract("a port-forward, seen from the pod", async () => {
  const { near, far, close } = await forward("websocket");
  return { near: far, far: near, ...(close && { close }) };
});

connContract("a connection into a cluster, by the name of a Service", async () => {
  const pod = new PodEnds();
  const parts = {
    services: [serviceRecord({ namespace: "shop", name: "web" })],
    slices: { "shop/web": [sliceRecord(["web-0"], 8080)] },
  };
  const { link } = standInLink({ parts, connect: pod.connect, realClock: systemClock });
  const near = await link.dial({ host: "web.shop.svc", port: 80 }, { signal });
  while (pod.ends.length === 0) await nextTurn();
  return { near, far: pod.last, close: () => link[Symbol.asyncDispose]() };
});

connContract("RetriedConn", () => {
  const [first, far] = memoryPair();
  return Promise.resolve({
    near: new RetriedConn({ first, next: () => Promise.resolve(undefined) }),
    far,
  });
});
connContract("RetriedConn on its second way", async () => {
  const [failed, gone] = memoryPair();
  const [second, far] = memoryPair();
  gone.abort(new Error("gone"));
  const near = new RetriedConn({ first: failed, next: () => Promise.resolve(second) });
  await near.write(Uint8Array.of(1));
  await far.read(new Uint8Array(1));
  return { near, far };
});

import assert from "node:assert/strict";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Conn } from "../../../src/core/mod.ts";
import type { Listening } from "../../../src/world/mod.ts";
import type { KubernetesSettings } from "../../../src/kube/mod.ts";
import type { ForwardForm } from "../../../src/kube/forward/forward_forms.ts";
import type { TransportsSettings } from "../../../src/transports/mod.ts";
import { type FakeAnswer, FakeKubeApi, type FakeRequest } from "../../support/fake_kube_api.ts";
import { ForwardStandIn } from "../../support/forward_stand_in.ts";
import { listed, service } from "../../support/kube_answers.ts";
import { kubeconfigOf } from "../../support/kube_world.ts";
import { memoryPair } from "../../support/memory_conn.ts";
import { sum, type TransportSetting, type TransportTried, withoutHalfClose } from "../transport_contract.ts";
import { Surroundings } from "./surroundings.ts";

/** An API server on `192.0.2.50`, and the transport `lab` into its cluster. */
export function cluster(
  answer: (request: FakeRequest) => FakeAnswer | Promise<FakeAnswer>,
): { all: Surroundings; lab: TransportsSettings[string]; api: FakeKubeApi; listening: Listening } {
  const all = new Surroundings({ "/config": kubeconfigOf({ server: "http://192.0.2.50" }) });
  all.tick();
  const api = new FakeKubeApi(answer);
  const listening = all.network.listen({ host: "192.0.2.50", port: 80 });
  const serving = api.listen(listening);
  all.after(async () => {
    listening.close();
    await serving;
    await api[Symbol.asyncDispose]();
  });
  const settings: KubernetesSettings = {
    kubeconfigs: ["/config"],
    clusterDomain: "cluster.local",
    halfClose: "pass",
    externalName: "refuse",
  };
  return { all, lab: { kind: "kubernetes", settings }, api, listening };
}

/** The slice of a Service with one pod, `NAME-0`. */
function slice(name: string, version: number): unknown {
  return {
    metadata: {
      namespace: "shop",
      name,
      resourceVersion: String(version),
      labels: { "kubernetes.io/service-name": name },
    },
    addressType: "IPv4",
    ports: [{ port: 8080, protocol: "TCP" }],
    endpoints: [{
      addresses: [`10.244.0.${version}`],
      conditions: { ready: true, serving: true, terminating: false },
      targetRef: { kind: "Pod", name: `${name}-0`, namespace: "shop" },
    }],
  };
}

const kubeletRefuses =
  "error forwarding port 8080 to pod closed-0, uid : failed to connect: dial tcp4 127.0.0.1:8080: connect: connection refused";

export function kubernetes(): readonly TransportTried[] {
  const tried = (name: string, form: ForwardForm, cannot: TransportTried["cannot"] = {}): TransportTried => ({
    name: `kubernetes (${name})`,
    kind: "kubernetes",
    of: "Kubernetes",
    codes: { refused: "refused", unknown: "name_not_found" },
    open: () => {
      let asksSilent = false;
      const services = ["web", "closed", "silent"];
      const pods = new Map<string, ForwardStandIn>();
      const ends: Conn[] = [];
      const connect = (pod: string) => {
        if (pod === "closed-0") return kubeletRefuses;
        const [inside, outside] = memoryPair();
        ends.push(outside);
        return inside;
      };
      const { all, lab, listening } = cluster(async ({ method, path, target, fields }) => {
        if (path === "/version") return { status: 200, body: { gitVersion: "v1.35.4" } };
        if (path.endsWith("/services")) {
          return listed(
            9,
            ...services.map((name, at) => service(name, at + 1)),
          );
        }
        if (path.endsWith("/endpointslices")) {
          return listed(
            9,
            ...services.map((name, at) => slice(name, at + 1)),
          );
        }
        const pod = /\/pods\/([^/]+)\/portforward$/.exec(path)?.[1];
        if (pod === undefined) return { status: 404, body: {} };
        if (pod === "silent-0") {
          asksSilent = true;
          return "silent";
        }
        const standIn = pods.get(pod) ?? new ForwardStandIn({ forms: [form], connect: () => connect(pod) });
        pods.set(pod, standIn);
        const { signal } = new AbortController();
        const upgrade = await standIn.upgrade({ method, path: target, fields: [...fields] }, { signal });
        if (!upgrade.conn) return { status: upgrade.status, body: { message: upgrade.text } };
        return { upgrade: upgrade.conn, fields: [["Connection", "Upgrade"], ...upgrade.fields] };
      });
      all.after(async () => {
        for (const { connections } of pods.values()) {
          for (const connection of connections) {
            connection.close();
            await connection.done;
          }
        }
      });
      const setting: TransportSetting = all.build({ it: lab }, {
        targets: {
          address: { host: "10.96.0.1", port: 80 },
          name: { host: "web.shop.svc", port: 80 },
          refusing: { host: "closed.shop.svc", port: 80 },
          unknown: { host: "nowhere.shop.svc", port: 80 },
          silent: { host: "silent.shop.svc", port: 80 },
        },
        accept: async () => {
          while (ends.length === 0) await nextTurn();
          return ends.shift() ?? assert.fail();
        },
        open: () => sum(setting.transport.status?.().clusters?.map(({ streams }) => streams)),
        dialing: async () => {
          while (!asksSilent) await nextTurn();
        },
        cut: () => listening.close(),
      });
      return Promise.resolve(setting);
    },
    cannot: {
      "reports at the dial that a target refuses":
        "a kubelet accepts the connection first and reports the refusal later",
      ...cannot,
    },
  });
  return [
    tried("SPDY over a WebSocket", "websocket"),
    tried("SPDY", "spdy"),
    tried("v4.channel.k8s.io", "v4", withoutHalfClose("one WebSocket ends both directions")),
  ];
}

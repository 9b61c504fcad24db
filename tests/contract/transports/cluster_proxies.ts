import type { World } from "../../../src/world/mod.ts";
import { serverTransport } from "../../../src/roles/konnectivity/server_transport.ts";
import { FakeWatch } from "../../support/fake_kube_api.ts";
import { bookmark, event } from "../../support/kube_answers.ts";
import { MemoryWorld } from "../../support/memory_world.ts";
import { keepsNothing, type TransportSetting, type TransportTried } from "../transport_contract.ts";
import { proxyServers } from "./proxies.ts";
import { cluster } from "./kubernetes.ts";

export function clusterProxies(): readonly TransportTried[] {
  const tried = (name: string, accepted: string | undefined): TransportTried => ({
    name: `proxy of a cluster (${name})`,
    kind: "proxy",
    of: "ClusterProxy",
    codes: accepted === undefined
      ? { refused: "refused", unknown: "name_not_found" }
      : { refused: "unreachable", unknown: "unreachable" },
    open: () => {
      const { all, lab, ...around } = proxyCluster(accepted);
      return Promise.resolve(
        all.build({ it: { kind: "proxy", settings: { cluster: "lab" } }, lab }, around),
      );
    },
    cannot: keepsNothing,
  });
  return [
    tried("by its proxy", "http://192.0.2.100:3128"),
    tried("without a proxy", undefined),
    {
      ...tried("by its proxy", "http://192.0.2.100:3128"),
      name: "an agent's connection to its server",
      of: "Object",
      madeBy: ["src/roles/konnectivity/server_transport.ts"],
      open: async () => {
        const { all, lab: _, ...around } = proxyCluster("http://192.0.2.100:3128");
        const { network, clock, files } = all;
        const world: World = { ...new MemoryWorld(), network, clock, files };
        return all.around(await serverTransport({ kubeconfig: "/config" }, world), around);
      },
    },
  ];
}

/** A cluster with an accepted proxy, or without one. */
function proxyCluster(
  httpsProxy: string | undefined,
): Pick<ReturnType<typeof cluster>, "all" | "lab"> & Pick<TransportSetting, "cut" | "open"> {
  const status = httpsProxy === undefined ? {} : { httpsProxy };
  const object = { metadata: { name: "cluster", resourceVersion: "5" }, status };
  const { all, lab, listening } = cluster(({ path }) =>
    path.endsWith("/proxies")
      ? new FakeWatch(event("ADDED", object), bookmark(6, true))
      : new FakeWatch(bookmark(6, true))
  );
  proxyServers(all, [{ protocol: "http" }]);
  return {
    all,
    lab,
    cut: () => listening.close(),
    // The transport watches the API server until it is disposed.
    open: () => all.network.openTo((address) => address !== "192.0.2.50:80"),
  };
}

import assert from "node:assert/strict";
import { dig } from "../support/dig.ts";
import { KubeHome, NamedServer } from "../support/kube_instance.ts";
import { pod, service } from "../support/kube_objects.ts";
import { eventuallyInCluster } from "../support/kube_processes.ts";
import { peerTest } from "../support/peers.ts";

// Queries the DNS server with dig for the Services of a real cluster; postern knows them from its watches.

peerTest("dig resolves the Services of a cluster", ["kubernetes", "curl", "dig"], async (peers, t) => {
  await using kube = await KubeHome.open(peers, { serviceNetworks: "10.96.0.0/16,fd00:10:96::/112" });
  const { cluster, home } = kube;
  await using site = new NamedServer("the shop");
  await cluster.namespace("shop");
  await cluster.namespace("empty");
  const http = [{ name: "http", port: 80, targetPort: 8080 }, { name: "admin", port: 81, targetPort: 8080 }];
  await cluster.apply(
    pod({ name: "web-1", namespace: "shop", labels: { app: "web" }, targets: { 8080: site.address } }),
    service({
      name: "web",
      namespace: "shop",
      selector: { app: "web" },
      ports: http,
      clusterIps: ["10.96.0.77"],
    }),
    service({ name: "two", namespace: "shop", selector: { app: "web" }, ports: http, isDualStack: true }),
    pod({
      name: "db-0",
      namespace: "shop",
      labels: { app: "db" },
      targets: { 80: site.address },
      hostname: "db-0",
      subdomain: "db",
      addresses: ["10.244.7.7"],
    }),
    pod({ name: "db-1", namespace: "shop", labels: { app: "db" }, addresses: ["10.244.7.8"], ready: false }),
    service({
      name: "db",
      namespace: "shop",
      selector: { app: "db" },
      ports: [{ name: "sql", port: 80 }],
      clusterIps: ["None"],
    }),
    service({ name: "out", namespace: "shop", externalName: "db.example.net" }),
  );
  for (const name of ["web", "two", "db"]) {
    await eventuallyInCluster(
      `${name} is ready`,
      async () => await cluster.readyEndpoints("shop", name) >= 1,
    );
  }
  const { spec } = await cluster.json("GET", "/api/v1/namespaces/shop/services/two") as {
    spec: { clusterIPs: readonly string[] };
  };
  const [four = "", six = ""] = spec.clusterIPs;
  const kubeconfig = await cluster.writeKubeconfig({ namespace: "shop" });
  await home.configure(`
listen: { mixed: "127.0.0.1:0", dns: "127.0.0.1:0" }
transports:
  lab: { kubernetes: { kubeconfig: ${kubeconfig}, context: lab, suffix: lab.internal } }
  all: { kubernetes: { kubeconfig: ${kubeconfig}, contexts: all, suffix: k8s.internal } }
routes:
  - { to: [.svc, .cluster.local, .lab.internal, <services>, <clusterips>], via: lab }
  - { to: [.k8s.internal], via: all }
`);
  const instance = home.start(["proxy"]);
  const port = Number((await instance.ready).find((one) => one.startsWith("dns:"))?.split(":").at(-1));
  const web = "web.shop.svc.cluster.local";
  const zone = (name: string) => `${name}. 5 IN SOA postern.invalid. hostmaster.invalid. 1 3600 600 86400 5`;
  const cases: {
    readonly name: string;
    readonly ask: readonly string[];
    readonly status?: string;
    readonly answers?: readonly string[];
    readonly authorities?: readonly string[];
    readonly additionals?: readonly string[];
  }[] = [
    { name: "a Service", ask: [web], answers: [`${web}. 5 IN A 10.96.0.77`] },
    { name: "its IPv6 address", ask: [web, "AAAA"], authorities: [zone("cluster.local")] },
    {
      name: "no Service",
      ask: ["no.shop.svc.cluster.local"],
      status: "NXDOMAIN",
      authorities: [zone("cluster.local")],
    },
    { name: "another suffix", ask: ["www.example.com"], status: "REFUSED" },
    {
      name: "a namespace with Services exists",
      ask: ["shop.svc.cluster.local"],
      authorities: [zone("cluster.local")],
    },
    {
      name: "a namespace without Services does not exist",
      ask: ["empty.svc.cluster.local"],
      status: "NXDOMAIN",
      authorities: [zone("cluster.local")],
    },
    { name: "a Service of both families", ask: ["two.shop.svc"], answers: [`two.shop.svc. 5 IN A ${four}`] },
    { name: "its IPv6 address", ask: ["two.shop.svc", "AAAA"], answers: [`two.shop.svc. 5 IN AAAA ${six}`] },
    {
      name: "the suffix of a cluster",
      ask: ["web.lab.internal"],
      answers: ["web.lab.internal. 5 IN A 10.96.0.77"],
    },
    {
      name: "the name of a context",
      ask: ["web.shop.lab.k8s.internal"],
      answers: ["web.shop.lab.k8s.internal. 5 IN A 10.96.0.77"],
    },
    { name: "a context alone", ask: ["lab.k8s.internal"], authorities: [zone("k8s.internal")] },
    {
      name: "no context",
      ask: ["web.shop.other.k8s.internal"],
      status: "NXDOMAIN",
      authorities: [zone("k8s.internal")],
    },
    {
      name: "a headless Service: its ready pods",
      ask: ["db.shop.svc.cluster.local"],
      answers: ["db.shop.svc.cluster.local. 5 IN A 10.244.7.7"],
    },
    {
      name: "one of its pods by hostname",
      ask: ["db-0.db.shop.svc.cluster.local"],
      answers: ["db-0.db.shop.svc.cluster.local. 5 IN A 10.244.7.7"],
    },
    {
      name: "SRV of a port by its name",
      ask: [`_http._tcp.${web}`, "SRV"],
      answers: [`_http._tcp.${web}. 5 IN SRV 0 100 80 ${web}.`],
      additionals: [`${web}. 5 IN A 10.96.0.77`],
    },
    {
      name: "SRV of a headless Service",
      ask: ["_sql._tcp.db.shop.svc.cluster.local", "SRV"],
      answers: ["_sql._tcp.db.shop.svc.cluster.local. 5 IN SRV 0 100 80 db-0.db.shop.svc.cluster.local."],
      additionals: ["db-0.db.shop.svc.cluster.local. 5 IN A 10.244.7.7"],
    },
    {
      name: "an ExternalName",
      ask: ["out.shop.svc.cluster.local"],
      answers: ["out.shop.svc.cluster.local. 5 IN CNAME db.example.net."],
    },
    {
      name: "the name of a ClusterIP",
      ask: ["-x", "10.96.0.77"],
      answers: ["77.0.96.10.in-addr.arpa. 5 IN PTR web.shop.svc.lab.internal."],
    },
  ];
  // If the instance cannot reach the cluster, the remaining queries would all fail.
  assert.equal((await dig(peers.dig, port, web)).status, "NOERROR", instance.stderr);
  for (const { name, ask, status = "NOERROR", answers = [], authorities = [], additionals = [] } of cases) {
    await t.step(name, async () => {
      const dug = await dig(peers.dig, port, "+noedns", ...ask);
      assert.deepEqual(
        {
          status: dug.status,
          answers: dug.answers,
          authorities: dug.authorities,
          additionals: dug.additionals,
        },
        { status, answers, authorities, additionals },
        dug.text,
      );
    });
  }
  await t.step("a connection to a resolved address goes into the cluster", async () => {
    const { answers: [line = ""] } = await dig(peers.dig, port, "web.shop.svc");
    const address = / A (\S+)$/.exec(line)?.[1] ?? assert.fail(line);
    const fetched = await kube.fetch(instance, `http://${address}/`);
    assert.equal(fetched.body, "the shop", fetched.said);
  });
  await t.step("a new Service resolves after its watch event", async () => {
    await cluster.apply(
      service({ name: "late", namespace: "shop", clusterIps: ["10.96.0.99"], ports: http }),
    );
    await eventuallyInCluster("late resolves", async () => {
      return (await dig(peers.dig, port, "late.shop.svc")).answers.includes(
        "late.shop.svc. 5 IN A 10.96.0.99",
      );
    });
  });
  await t.step("a cluster without permission is a failure, and postern reports it", async () => {
    const unauthorized = await cluster.writeKubeconfig({
      namespace: "shop",
      token: cluster.token("carol"),
    });
    const args = [
      "--listen-dns",
      "127.0.0.1:0",
      "--kubernetes",
      "--kubeconfig",
      unauthorized,
      "--id",
      "unauthorized",
    ];
    await using other = await home.instance(["--config", "/dev/null", ...args]);
    const own = Number((await other.ready).find((one) => one.startsWith("dns:"))?.split(":").at(-1));
    assert.equal((await dig(peers.dig, own, "web.shop.svc")).status, "SERVFAIL");
    await other.says(/ dns\.no_answer name=web\.shop\.svc .*reason=".*(services|endpointslices)/);
  });
});

import assert from "node:assert/strict";
import { KubeHome, NamedServer } from "../support/kube_instance.ts";
import { type KubeObject, pod, service } from "../support/kube_objects.ts";
import { guideRules } from "../support/kube_role.ts";
import { eventuallyInCluster } from "../support/kube_processes.ts";
import { peerTest } from "../support/peers.ts";

// The meaning of names and addresses in a cluster, with the real program and a real cluster. The rows
// come from the specification.

const http = [{ name: "http", port: 80, targetPort: "http" }];

/** Endpoints that only this test writes. */
function slice(name: string, owner: string, port: number, pods: readonly string[]): KubeObject {
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name, namespace: "prod", labels: { "kubernetes.io/service-name": owner } },
    addressType: "IPv4",
    ports: [{ name: "http", port, protocol: "TCP" }],
    endpoints: pods.map((name) => ({
      addresses: ["10.244.250.1"],
      conditions: { ready: true },
      targetRef: { kind: "Pod", namespace: "prod", name },
    })),
  };
}

peerTest("names and addresses of a cluster reach its pods", ["kubernetes", "curl"], async (peers, t) => {
  await using kube = await KubeHome.open(peers, { serviceNetworks: "10.96.0.0/16,fd00:10:96::/112" });
  const { cluster, home } = kube;
  await using started = new AsyncDisposableStack();
  const at = (name: string) => started.use(new NamedServer(name)).address;
  for (const name of ["dev", "prod"]) await cluster.namespace(name);
  await cluster.apply(
    pod({
      name: "web",
      namespace: "dev",
      labels: { app: "web" },
      targets: { 8080: at("dev/web") },
      ports: { http: 8080 },
    }),
    service({ name: "web", namespace: "dev", selector: { app: "web" }, ports: http, isDualStack: true }),
    pod({
      name: "web",
      namespace: "prod",
      labels: { app: "web" },
      targets: { 8080: at("prod/web"), 9090: at("prod/web admin") },
      ports: { http: 8080, admin: 9090 },
      addresses: ["10.244.7.7", "fd00:244::7"],
    }),
    service({
      name: "web",
      namespace: "prod",
      selector: { app: "web" },
      ports: [...http, { name: "admin", port: 81, targetPort: "admin" }],
    }),
    pod({
      name: "db-0",
      namespace: "prod",
      labels: { app: "db" },
      targets: { 80: at("prod/db-0") },
      hostname: "db-0",
      subdomain: "db",
    }),
    pod({ name: "db-1", namespace: "prod", labels: { app: "db" }, targets: { 80: at("prod/db-1") } }),
    service({
      name: "db",
      namespace: "prod",
      selector: { app: "db" },
      ports: [{ port: 80 }],
      clusterIps: ["None"],
    }),
    pod({ name: "slow", namespace: "prod", labels: { app: "slow" }, ready: false, ports: { http: 80 } }),
    service({ name: "slow", namespace: "prod", selector: { app: "slow" }, ports: http }),
    service({
      name: "both",
      namespace: "prod",
      selector: { app: "both" },
      ports: [
        { name: "dns", port: 80, protocol: "UDP" },
        { name: "dns-tcp", port: 80, targetPort: 8080 },
        { name: "only", port: 54, protocol: "UDP" },
      ],
    }),
    pod({ name: "both", namespace: "prod", labels: { app: "both" }, targets: { 8080: at("prod/both") } }),
    service({ name: "out", namespace: "prod", externalName: "db.example.net" }),
    ...["a", "b", "c"].map((name) =>
      pod({
        name: `host-${name}`,
        namespace: "prod",
        addresses: ["10.244.9.9"],
        targets: { [name === "a" ? 4001 : 4002]: at(`prod/host-${name}`) },
      })
    ),
    pod({ name: "old", namespace: "prod", targets: { 5001: at("prod/old") } }),
    pod({ name: "new", namespace: "prod", targets: { 5002: at("prod/new") } }),
    service({ name: "moving", namespace: "prod", ports: http }),
    slice("moving-1", "moving", 5001, ["old"]),
    slice("moving-2", "moving", 5002, ["new"]),
  );
  for (
    const [namespace, name, count] of [["dev", "web", 1], ["prod", "web", 1], ["prod", "db", 2], [
      "prod",
      "both",
      1,
    ]] as const
  ) {
    // A dual-stack Service has a slice for each family.
    await eventuallyInCluster(
      `${namespace}/${name} is ready`,
      async () => await cluster.readyEndpoints(namespace, name) >= count,
    );
  }
  const { spec } = await cluster.json("GET", "/api/v1/namespaces/dev/services/web") as {
    spec: { clusterIPs: readonly string[] };
  };
  const [four = "", six = ""] = spec.clusterIPs;
  const kubeconfig = await cluster.writeKubeconfig({ namespace: "dev" });

  {
    await using instance = await home.instance(["--kubernetes", "--kubeconfig", kubeconfig]);
    await kube.begins(instance, "http://web/", "dev/web");
  }
  await t.step("without a configuration", async () => {
    await using instance = await home.instance(["--kubernetes", "--kubeconfig", kubeconfig]);
    for (const host of ["web", "web.dev", "WEB"]) {
      assert.equal((await kube.fetch(instance, `http://${host}/`)).body, "dev/web", host);
    }
    for (const host of ["web.prod", "web.prod.svc", "web.prod.svc.cluster.local.", "WEB.Prod.SVC"]) {
      assert.equal((await kube.fetch(instance, `http://${host}/`)).body, "prod/web", host);
    }
    const { stdout } = await home.run(["explain", "web.prod:80"]);
    assert.match(stdout, /goes to kubernetes1[^]*the Service prod\/web of lab: web:8080/);
  });

  await home.configure(`
transports:
  lab: { kubernetes: { kubeconfig: ${kubeconfig}, context: lab, suffix: lab.internal } }
  odd: { kubernetes: { kubeconfig: ${kubeconfig}, clusterDomain: k8s.example, namespace: prod } }
  all: { kubernetes: { kubeconfig: ${kubeconfig}, contexts: all, suffix: k8s.internal, externalName: dial } }
routes:
  - { to: [.svc, .cluster.local, .lab.internal, <services>, <clusterips>], via: lab }
  - { to: [.k8s.example], via: odd }
  - { to: [.k8s.internal], via: all }
default: reject
`);
  await using instance = await home.instance();
  const body = async (url: string, ...options: string[]) =>
    (await kube.fetch(instance, url, ...options)).body;
  const found: readonly (readonly [row: string, url: string, body: string])[] = [
    ["a name of two labels that is a Service", "http://web.prod/", "prod/web"],
    [
      "a pod of a headless Service by its hostname",
      "http://db-0.db.prod.svc.cluster.local/",
      "prod/db-0",
    ],
    ["the name of a pod without a hostname", "http://db-1.db.prod.svc/", "prod/db-1"],
    ["a pod by its address with dashes", "http://10-244-7-7.prod.pod.cluster.local:8080/", "prod/web"],
    ["another domain of the cluster", "http://web.prod.svc.k8s.example/", "prod/web"],
    ["a target port by its name", "http://web.prod.svc:81/", "prod/web admin"],
    ["a port by its name", "http://_admin._tcp.web.prod.svc.cluster.local:1/", "prod/web admin"],
    ["a ClusterIP", `http://${four}/`, "dev/web"],
    ["a ClusterIP of the second family", `http://[${six}]/`, "dev/web"],
    ["the address of a pod with a Service", "http://10.244.7.7:9090/", "prod/web admin"],
    [
      "a shared address and a port that one pod declares",
      "http://10-244-9-9.prod.pod.cluster.local:4001/",
      "prod/host-a",
    ],
    ["TCP and UDP on one port", "http://both.prod.svc/", "prod/both"],
    ["the suffix of a cluster", "http://web.prod.lab.internal/", "prod/web"],
    ["the suffix of a cluster, in the default namespace", "http://web.lab.internal/", "dev/web"],
    ["the suffix and a context's name", "http://web.prod.lab.k8s.internal/", "prod/web"],
  ];
  for (const [row, url, expected] of found) {
    await t.step(row, async () => {
      const fetched = await kube.fetch(instance, url);
      assert.equal(fetched.body, expected, fetched.said);
    });
  }
  await t.step("port and pod come from the same slice", async () => {
    const bodies = new Set<string>();
    // Either choice answers: the port of one slice with the pod of the other has no listener.
    for (let left = 60; left > 0 && bodies.size < 2; left--) {
      bodies.add(await body("http://moving.prod.svc/"));
    }
    assert.deepEqual([...bodies].sort(), ["prod/new", "prod/old"]);
  });
  const refused: readonly (readonly [row: string, url: string, reply: number, why: RegExp])[] = [
    ["a name of two labels outside of the cluster", "http://example.com/", 2, /a rule of postern rejects/],
    [
      "another domain than the cluster's",
      "http://web.prod.svc.other.example/",
      2,
      /a rule of postern rejects/,
    ],
    ["another port", "http://web.prod.svc:82/", 5, /port 82 of .* it has 80 \(http\), 81 \(admin\)/],
    ["no ready pod", "http://slow.prod.svc/", 4, /no ready endpoint \(1 not ready\)/],
    [
      "a shared address and a port that two declare",
      "http://10-244-9-9.prod.pod.cluster.local:4002/",
      5,
      /prod\/host-b, prod\/host-c/,
    ],
    ["an external name", "http://out.prod.svc/", 2, /is the ExternalName "db\.example\.net"/],
    ["a UDP port", "http://both.prod.svc:54/", 7, /it is a UDP port/],
    ["an unknown Service", "http://nothing.prod.svc/", 4, /Cannot find the Service "prod\/nothing"/],
    ["an unknown context", "http://web.prod.other.k8s.internal/", 4, /contains no context/],
  ];
  for (const [row, url, reply, why] of refused) {
    await t.step(row, async () => {
      const fetched = await kube.fetch(instance, url);
      assert.equal(fetched.reply, reply, fetched.said);
      // The same with the other protocol, including the reason.
      const told = await kube.fetch(
        instance,
        url,
        "--proxytunnel",
        "--proxy",
        `http://${await instance.address()}`,
        "-D",
        "-",
      );
      assert.match(told.body, /^HTTP\/1.1 (?:403|502) /, told.said);
      assert.match(told.body, why);
    });
  }
  await t.step("rights in one namespace, and the missing right", async () => {
    await cluster.allow("alice", "prod", guideRules());
    const narrow = await cluster.writeKubeconfig({
      namespace: "prod",
      token: cluster.token("alice"),
      name: "alice",
    });
    await using instance = await home.instance([
      "--kubernetes",
      "lab",
      "--kubeconfig",
      narrow,
      "--id",
      "narrow",
    ]);
    assert.equal((await kube.fetch(instance, "http://web.prod.svc/")).body, "prod/web");
    assert.equal((await kube.fetch(instance, "http://web/")).body, "prod/web");
    const options = ["--proxytunnel", "--proxy", `http://${await instance.address()}`, "-D", "-"];
    const other = await kube.fetch(instance, "http://web.dev.svc/", ...options);
    assert.match(
      other.body,
      /403 [^]*may not (?:list|watch) (?:services|endpointslices)[^]* in the namespace "dev"/,
    );
  });
  await t.step("no dial requested a list", async () => {
    const lists = () => cluster.requests({ resource: "services", verb: "LIST" });
    const before = await lists();
    for (let left = 10; left > 0; left--) assert.equal(await body("http://web.prod.svc/"), "prod/web");
    assert.equal(await lists(), before);
  });
});

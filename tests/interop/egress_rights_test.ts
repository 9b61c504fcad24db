import { baseNoProxy, EgressLab } from "../support/egress_lab.ts";
import { Manifests } from "../support/manifests.ts";
import { eventually } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import { assertJustEnough, Audit, rightsOf } from "../support/rights.ts";
import { testTls } from "../support/tls_files.ts";

const account = "postern-egress:postern-egress";
const proxy = "http://proxy.example.net:3128";

peerTest(
  "The egress manifests grant exactly the permissions that the controller uses",
  ["kubectl", "kubernetes"],
  async ({ kubectl, kubernetes }) => {
    await using audit = await Audit.create();
    // An API server with streaming lists gets no list requests; others do.
    const apiOptions = [...audit.apiOptions, "--feature-gates=WatchList=false"];
    await using lab = await EgressLab.start(kubernetes, { apiOptions });
    await using manifests = await Manifests.create(kubectl);
    const { cluster } = lab;
    const objects = await manifests.render("egress/plain-kubernetes");
    await cluster.apply(...objects.filter(({ kind }) => kind !== "Namespace"));

    const wishes = {
      annotations: { "config.openshift.io/inject-proxy": "main" },
      labels: { "config.openshift.io/inject-trusted-cabundle": "true" },
    };
    const template = {
      metadata: { labels: { app: "a" } },
      spec: { containers: [{ name: "main", image: "none" }] },
    };
    const workload = (kind: string, more: object) => ({
      apiVersion: "apps/v1",
      kind,
      metadata: { namespace: "default", name: "asks", ...wishes },
      spec: { selector: { matchLabels: { app: "a" } }, template, ...more },
    });
    await cluster.apply(
      lab.map("openshift-config", "user-ca", { "ca-bundle.crt": testTls.ca }),
      lab.map("default", "trusted", {}, wishes),
      workload("Deployment", { replicas: 0 }),
      workload("StatefulSet", { replicas: 0, serviceName: "a" }),
      workload("DaemonSet", {}),
    );
    const generation = await lab.edit({ httpProxy: proxy, trustedCA: { name: "user-ca" } });
    const token = await cluster.serviceAccountToken("postern-egress", "postern-egress");
    const kubeconfig = await cluster.writeKubeconfig({ name: "controller", token });
    const controller = lab.home.start([
      ...["egress", "controller", `--kubeconfig=${kubeconfig}`, "--namespace=postern-egress"],
      ...["--health-host=127.0.0.1", "--health-port=0", "--lease-duration=6s", "--system-trust=omit"],
    ]);
    await controller.ready;
    await lab.verdict(generation, ({ accepted }) => accepted === "True");
    const isEverywhere = async () => {
      const injected = ["deployments", "statefulsets", "daemonsets"].map(async (plural) => {
        const answer = await cluster.ask("GET", `/apis/apps/v1/namespaces/default/${plural}/asks`);
        return (await answer.text()).includes(proxy);
      });
      return (await Promise.all(injected)).every(Boolean) &&
        (await lab.bundle("default", "trusted") ?? "").includes("BEGIN CERTIFICATE") &&
        (await lab.status()).join() === [proxy, "", baseNoProxy].join();
    };
    await eventually("all targets have the proxy and the bundle", isEverywhere);
    // A rejection creates an Event.
    await lab.verdict(await lab.edit({ httpProxy: "ftp://nowhere" }), ({ accepted }) => accepted === "False");
    const events = "/api/v1/namespaces/default/events?fieldSelector=reason=ProxyRefused";
    await eventually("there is an Event", async () => {
      const { items } = await cluster.json("GET", events) as { items: unknown[] };
      return items.length > 0;
    });
    controller.kill("SIGTERM");
    await controller.ended;
    assertJustEnough(rightsOf(objects, account), await audit.asked(account));
  },
);

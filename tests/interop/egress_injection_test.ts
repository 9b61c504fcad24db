import assert from "node:assert/strict";
import { baseNoProxy, EgressLab } from "../support/egress_lab.ts";
import { makeCertificates } from "../support/kube_processes.ts";
import type { KubeObject } from "../support/kube_objects.ts";
import { eventually } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";

const first = "http://first.example.net:3128";
const second = "http://second.example.net:3128";
const label = "config.openshift.io/inject-trusted-cabundle";
const annotation = "config.openshift.io/inject-proxy";

interface Variable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: unknown;
}

interface Workload {
  readonly metadata: { readonly generation: number; readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: {
    readonly template: {
      readonly spec: Readonly<
        Record<
          "containers" | "initContainers",
          readonly { readonly name: string; readonly env?: readonly Variable[] }[]
        >
      >;
    };
  };
}

type Kind = "Deployment" | "DaemonSet" | "StatefulSet";

/** A workload without pods, as somebody applies it. */
function workload(
  name: string,
  wants: string | undefined,
  { kind = "Deployment", env = [], init = [] }: {
    readonly kind?: Kind;
    readonly env?: readonly Variable[];
    readonly init?: readonly string[];
  } = {},
): KubeObject {
  const labels = { app: name };
  const container = (name: string) => ({ name, image: "none", ...(name === "foo" && { env }) });
  return {
    apiVersion: "apps/v1",
    kind,
    metadata: {
      namespace: "default",
      name,
      ...(wants !== undefined && { annotations: { [annotation]: wants } }),
    },
    spec: {
      ...(kind === "DaemonSet" ? {} : { replicas: 0 }),
      ...(kind === "StatefulSet" && { serviceName: name }),
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { containers: ["foo", "bar"].map(container), initContainers: init.map(container) },
      },
    },
  };
}

async function read(lab: EgressLab, name: string, kind: Kind = "Deployment"): Promise<Workload> {
  const path = `/apis/apps/v1/namespaces/default/${kind.toLowerCase()}s/${name}`;
  return await lab.cluster.json("GET", path) as Workload;
}

/** The variables of a container, as `NAME=VALUE`. */
function variables(
  { spec }: Workload,
  container: string,
  list: "containers" | "initContainers" = "containers",
): string[] {
  const found = spec.template.spec[list].find(({ name }) => name === container);
  return (found?.env ?? []).map(({ name, value }) => `${name}=${value}`);
}

async function isSaid(lab: EgressLab, reason: string, about: RegExp): Promise<boolean> {
  const { items } = await lab.cluster.json("GET", "/api/v1/events") as {
    items: { reason: string; message: string; involvedObject: { name: string } }[];
  };
  return items.some((item) =>
    item.reason === reason && about.test(`${item.involvedObject.name}: ${item.message}`)
  );
}

peerTest("egress controller: what is injected where", ["kubernetes"], async ({ kubernetes }, t) => {
  await using lab = await EgressLab.start(kubernetes);
  const { cluster, home } = lab;
  await makeCertificates(kubernetes, home.directory, [{ name: "leaf", commonName: "leaf" }]);
  const ca = await Deno.readTextFile(`${home.directory}/ca.crt`);
  const leaf = await Deno.readTextFile(`${home.directory}/leaf.crt`);
  await cluster.apply(
    lab.map("openshift-config", "mine", { "ca-bundle.crt": ca }),
    workload("one", "foo,start", { init: ["start"] }),
    workload("set", "foo", { kind: "DaemonSet" }),
    workload("state", "foo", { kind: "StatefulSet" }),
    workload("blanks", "foo, bar"),
    workload("unknown", "foo,nobody"),
    workload("not-asked", undefined),
    workload("own", "foo", {
      env: [
        { name: "HTTP_PROXY", value: "http://old:1" },
        { name: "KEPT", value: "yes" },
        { name: "NO_PROXY", valueFrom: { configMapKeyRef: { name: "x", key: "y" } } },
      ],
    }),
    lab.map("default", "asks", { other: "kept", "ca-bundle.crt": "" }, { labels: { [label]: "true" } }),
    lab.map("default", "nothing-yet", {}, { labels: { [label]: "true" } }),
    lab.map("default", "asks-wrong", {}, { labels: { [label]: "True" } }),
    lab.map("default", "asks-yes", {}, { labels: { [label]: "yes" } }),
    lab.map("default", "has-own", { "ca-bundle.crt": "by hand" }, { labels: { [label]: "true" } }),
  );
  await lab.edit({ httpProxy: first, httpsProxy: second, trustedCA: { name: "mine" } });
  await using controller = await lab.controller();
  const all = [`HTTP_PROXY=${first}`, `HTTPS_PROXY=${second}`, `NO_PROXY=${baseNoProxy}`];

  await t.step(
    "the named containers have the variables, init containers too",
    async () => {
      await eventually("they are there", async () => variables(await read(lab, "one"), "foo").length === 3);
      const one = await read(lab, "one");
      assert.deepEqual(variables(one, "foo"), all);
      assert.deepEqual(variables(one, "start", "initContainers"), all);
      assert.deepEqual(variables(one, "bar"), []);
      assert.deepEqual(variables(await read(lab, "not-asked"), "foo"), []);
      for (const [name, kind] of [["set", "DaemonSet"], ["state", "StatefulSet"]] as const) {
        await eventually(
          `${kind} has them`,
          async () => variables(await read(lab, name, kind), "foo").length === 3,
        );
        assert.deepEqual(variables(await read(lab, name, kind), "foo"), all);
      }
    },
  );

  await t.step("names are trimmed", async () => {
    await eventually("both", async () => variables(await read(lab, "blanks"), "bar").length === 3);
    assert.deepEqual(variables(await read(lab, "blanks"), "foo"), all);
  });

  await t.step("an unknown container is told of, and nothing is written", async () => {
    await eventually("an Event", () => isSaid(lab, "ProxyNotInjected", /^unknown: .*"nobody"/));
    assert.deepEqual(variables(await read(lab, "unknown"), "foo"), []);
  });

  await t.step("what is there is replaced, and stays where it was", async () => {
    await eventually("replaced", async () => variables(await read(lab, "own"), "foo").length === 4);
    assert.deepEqual(variables(await read(lab, "own"), "foo"), [
      `HTTP_PROXY=${first}`,
      "KEPT=yes",
      `NO_PROXY=${baseNoProxy}`,
      `HTTPS_PROXY=${second}`,
    ]);
  });

  await t.step("the bundle goes where the label says true, and other keys stay", async () => {
    await eventually(
      "it is there",
      async () => (await lab.bundle("default", "asks"))?.includes(ca.trim()) === true,
    );
    await eventually("there too", async () => (await lab.bundle("default", "nothing-yet")) !== undefined);
    assert.equal((await lab.mapOf("default", "asks"))?.data?.["other"], "kept");
    assert.equal(await lab.bundle("default", "asks"), await lab.bundle());
    assert.equal(await lab.bundle("default", "asks-wrong"), undefined);
    assert.equal(await lab.bundle("default", "asks-yes"), undefined);
  });

  await t.step("a map whose key somebody else has written is left as it is, and told of", async () => {
    await eventually("an Event", () => isSaid(lab, "OwnedByAnother", /^has-own: .*"tests"/));
    assert.equal(await lab.bundle("default", "has-own"), "by hand");
  });

  const written = async () => {
    const text = await (await fetch(`http://${await controller.address()}/metrics`)).text();
    return [...text.matchAll(/^postern_egress_writes_total\{kind="(\w+)",outcome="written"\} (\d+)$/gm)]
      .filter(([, kind]) => kind !== "Event").map(([, kind, count]) => `${kind} ${count}`).sort();
  };

  await t.step("what did not change is not written again, and no pod rolls", async () => {
    const names = ["one", "own", "blanks"];
    const generations = () =>
      Promise.all(names.map(async (name) => (await read(lab, name)).metadata.generation));
    const [before, rolled, version] = [
      await written(),
      await generations(),
      await lab.mapOf("default", "asks"),
    ];
    // The same again, in another order of its fields: a new generation without a new value.
    await lab.tried({ trustedCA: { name: "mine" }, httpsProxy: second, httpProxy: first, noProxy: "" });
    await cluster.json(
      "PATCH",
      "/api/v1/namespaces/default/configmaps/asks",
      { data: { other: "new" } },
      "application/merge-patch+json",
    );
    await cluster.json("PATCH", "/apis/apps/v1/namespaces/default/deployments/one", {
      metadata: { labels: { a: "b" } },
    }, "application/merge-patch+json");
    await cluster.apply(lab.map("default", "late", {}, { labels: { [label]: "true" } }));
    await eventually("a new map has it", async () => (await lab.bundle("default", "late")) !== undefined);
    assert.deepEqual(await generations(), rolled);
    assert.notEqual(
      (await lab.mapOf("default", "asks"))?.metadata.resourceVersion,
      version?.metadata.resourceVersion,
    );
    const count = (list: string[], kind: string) =>
      Number(list.find((item) => item.startsWith(kind))?.split(" ")[1] ?? 0);
    assert.equal(count(await written(), "Deployment"), count(before, "Deployment"));
    // The late one and the report of a new generation.
    assert.equal(count(await written(), "ConfigMap"), count(before, "ConfigMap") + 2);
  });

  await t.step(
    "a map that is emptied by hand has it again, one that is deleted and made anew too",
    async () => {
      await cluster.json(
        "PATCH",
        "/api/v1/namespaces/default/configmaps/late",
        { data: null },
        "application/merge-patch+json",
      );
      await eventually("it is back", async () => (await lab.bundle("default", "late")) !== undefined);
      await cluster.remove(lab.map("default", "late", {}));
      await cluster.apply(lab.map("default", "late", {}, { labels: { [label]: "true" } }));
      await eventually("it is there", async () => (await lab.bundle("default", "late")) !== undefined);
    },
  );

  await t.step(
    "an empty variable is left out, ours is taken away, and the bundle changes everywhere",
    async () => {
      await cluster.apply(lab.map("openshift-config", "mine", { "ca-bundle.crt": `${ca}${leaf}` }));
      await lab.tried({ httpsProxy: second, trustedCA: { name: "mine" } });
      const rest = [`HTTPS_PROXY=${second}`, `NO_PROXY=${baseNoProxy}`];
      await eventually(
        "HTTP_PROXY is gone",
        async () => variables(await read(lab, "one"), "foo").length === 2,
      );
      assert.deepEqual(variables(await read(lab, "one"), "foo"), rest);
      await eventually(
        "the bundle has both",
        async () => (await lab.bundle("default", "asks"))?.includes(leaf.trim()) === true,
      );
    },
  );

  await t.step("a refused change goes on handing out what was accepted", async () => {
    const report = await lab.tried({ httpProxy: "https://no", trustedCA: { name: "mine" } });
    assert.equal(report.accepted, "False");
    await cluster.apply(
      workload("newcomer", "foo"),
      lab.map("default", "newcomer", {}, { labels: { [label]: "true" } }),
    );
    await eventually(
      "the newcomers have it",
      async () =>
        variables(await read(lab, "newcomer"), "foo").length === 2 &&
        (await lab.bundle("default", "newcomer")) !== undefined,
    );
    assert.deepEqual(variables(await read(lab, "newcomer"), "foo")[0], `HTTPS_PROXY=${second}`);
  });

  await t.step("without the label the key stays, without the annotation our variables go", async () => {
    await cluster.json("PATCH", "/api/v1/namespaces/default/configmaps/asks", {
      metadata: { labels: { [label]: null } },
    }, "application/merge-patch+json");
    await cluster.json("PATCH", "/apis/apps/v1/namespaces/default/deployments/one", {
      metadata: { annotations: { [annotation]: null } },
    }, "application/merge-patch+json");
    await eventually("they are gone", async () => variables(await read(lab, "one"), "foo").length === 0);
    assert.equal((await lab.bundle("default", "asks"))?.includes(leaf.trim()), true);
  });

  await t.step("without a proxy the variables go, and what was somebody else's stays gone", async () => {
    await lab.tried({});
    await eventually("ours are gone", async () => variables(await read(lab, "own"), "foo").length === 1);
    assert.deepEqual(variables(await read(lab, "own"), "foo"), ["KEPT=yes"]);
    await eventually(
      "the newcomer's are gone too",
      async () => variables(await read(lab, "newcomer"), "foo").length === 0,
    );
  });

  await t.step("with --take-over it writes what another one has written", async () => {
    controller.kill("SIGTERM");
    assert.equal((await controller.ended).code, 0);
    await using _second = await lab.controller(["--take-over"]);
    await eventually("it is written", async () => (await lab.bundle("default", "has-own")) !== "by hand");
  });
});

peerTest("egress controller: where another one looks after the proxy it writes nothing and ends with 4", [
  "kubernetes",
], async ({ kubernetes }, t) => {
  await using lab = await EgressLab.start(kubernetes, { keepsConditions: false });
  const { cluster } = lab;
  const versions = async () => JSON.stringify([await lab.status(), await lab.bundle(), await lab.report()]);
  const refusedFor = async (why: RegExp) => {
    const before = await versions();
    await using controller = await lab.controller();
    const { code, stderr } = await controller.ended;
    assert.equal(code, 4, stderr);
    assert.match(stderr, why);
    assert.match(stderr, /postern: hint: .*--take-over/);
    assert.equal(await versions(), before);
  };
  await lab.edit({ httpProxy: first });
  const statusPath = "/apis/config.openshift.io/v1/proxies/cluster/status";
  const merge = "application/merge-patch+json";

  await t.step("status of another field manager", async () => {
    await cluster.json("PATCH", `${statusPath}?fieldManager=another`, {
      status: { httpProxy: "http://theirs" },
    }, merge);
    await refusedFor(/status\.httpProxy of Proxy "cluster" is written by "another"/);
  });

  await t.step("--take-over takes it, and is not needed again", async () => {
    await using controller = await lab.controller(["--take-over"]);
    await eventually("it is accepted", async () => (await lab.status())[0] === first);
    controller.kill("SIGTERM");
    assert.equal((await controller.ended).code, 0, controller.stderr);
    await using second = await lab.controller();
    await eventually(
      "it has looked",
      async () =>
        /postern_egress_accepted 1/.test(
          await (await fetch(`http://${await second.address()}/metrics`)).text(),
        ),
    );
  });

  await t.step(
    "where the kind keeps no conditions they are in the report alone, and nothing is written twice",
    async () => {
      const { status } = await lab.proxy();
      assert.deepEqual(Object.keys(status ?? {}).sort(), ["httpProxy", "httpsProxy", "noProxy"]);
      const report = await lab.verdict((await lab.proxy()).metadata.generation);
      assert.equal(report.conditions.find(({ type }) => type === "Accepted")?.status, "True");
    },
  );

  await t.step("the bundle of another field manager, while it runs", async () => {
    await using controller = await lab.controller();
    await eventually(
      "it has looked",
      async () =>
        /postern_egress_accepted 1/.test(
          await (await fetch(`http://${await controller.address()}/metrics`)).text(),
        ),
    );
    const path = "/api/v1/namespaces/openshift-config-managed/configmaps/trusted-ca-bundle";
    await cluster.json(
      "PATCH",
      `${path}?fieldManager=another`,
      { data: { "ca-bundle.crt": "theirs" } },
      merge,
    );
    const { code, stderr } = await controller.ended;
    assert.equal(code, 4, stderr);
    assert.match(
      stderr,
      /"ca-bundle.crt" of ConfigMap openshift-config-managed\/trusted-ca-bundle is written by "another"/,
    );
    assert.equal(await lab.bundle(), "theirs");
  });

  await t.step("the operator of OpenShift", async () => {
    await cluster.apply({
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: "clusteroperators.config.openshift.io" },
      spec: {
        group: "config.openshift.io",
        scope: "Cluster",
        names: { kind: "ClusterOperator", plural: "clusteroperators", singular: "clusteroperator" },
        versions: [{
          name: "v1",
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
        }],
      },
    });
    const path = "/apis/config.openshift.io/v1/clusteroperators";
    await eventually("the kind is served", async () => {
      const answer = await cluster.ask("GET", path);
      await answer.body?.cancel();
      return answer.ok;
    });
    await cluster.json("POST", path, {
      apiVersion: "config.openshift.io/v1",
      kind: "ClusterOperator",
      metadata: { name: "network" },
    });
    await refusedFor(/ClusterOperator "network" is there/);
  });
});

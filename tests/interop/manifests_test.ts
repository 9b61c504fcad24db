import assert from "node:assert/strict";
import { parseSync } from "@optique/core/parser";
import settings from "../../deno.json" with { type: "json" };
import { commandGroups } from "../../src/cli/line/all_commands.ts";
import { find } from "../../src/cli/line/command_line.ts";
import { KubeCluster } from "../support/kube_cluster.ts";
import type { KubeObject } from "../support/kube_objects.ts";
import { containersOf, Manifests, type PodTemplate, templateOf } from "../support/manifests.ts";
import { peerTest } from "../support/peers.ts";

/** Every kustomization that a user may apply, and its sources if they are in another directory. */
const kustomizations: Readonly<Record<string, string | undefined>> = {
  "konnectivity/examples/servers": undefined,
  "konnectivity/examples/agents": undefined,
  "konnectivity/every-node": "resources: [../agent-every-node]",
  "konnectivity/token-servers": "resources: [../examples/servers]\ncomponents: [../tokens/server]",
  "konnectivity/token-agents": "resources: [../examples/agents]\ncomponents: [../tokens/agent]",
  "konnectivity/sidecar-rights": undefined,
  "konnectivity/examples/sidecar": undefined,
  "egress/plain-kubernetes": undefined,
};

/** Secrets that a kustomization expects to exist. */
const givenSecrets = { "konnectivity/every-node": ["konnectivity-agent"] } as Record<string, string[]>;

peerTest("The manifests match the program and its files", ["kubectl"], async ({ kubectl }, t) => {
  await using manifests = await Manifests.create(kubectl);
  for (const [name, text] of Object.entries(kustomizations)) {
    if (text !== undefined) await manifests.write(name, text);
    const objects = await manifests.render(name);
    await t.step(`PodDisruptionBudgets of ${name}`, () => assertScalable(objects));
    for (const object of objects) {
      const template = templateOf(object);
      if (!template) continue;
      await t.step(`${object.kind} ${object.metadata.name} of ${name}`, () => {
        const containers = containersOf(template);
        assert.ok(containers.length > 0);
        for (const container of containers) {
          const { image, args = [] } = container;
          assert.equal(image.replace(/^.*:/, ""), settings.version);
          assertParsed(args);
          assertPorts(container);
          assertFiles(args, template, objects, givenSecrets[name] ?? []);
          assertConfined(container, template);
        }
      });
    }
  }
});

peerTest(
  "A real API server accepts the manifests",
  ["kubectl", "kubernetes"],
  async ({ kubectl, kubernetes }, t) => {
    await using cluster = await KubeCluster.start(kubernetes);
    await using manifests = await Manifests.create(kubectl, { guest: cluster.kubeconfig() });
    const admin = ["--kubeconfig", await cluster.writeKubeconfig()];
    for (const [name, text] of Object.entries(kustomizations)) {
      await t.step(name, async () => {
        if (text !== undefined) await manifests.write(name, text);
        const objects = await manifests.render(name);
        // Namespaced objects are tested after their namespace exists.
        const first = objects.filter(({ kind }) =>
          kind === "Namespace" || kind === "CustomResourceDefinition"
        );
        await cluster.apply(...first);
        const apply = ["apply", ...admin, "--server-side", "-k", `${manifests.directory}/${name}`];
        const tried = await manifests.run([...apply, "--dry-run=server"]);
        assert.equal(tried.trim().split("\n").length, objects.length, tried);
        await manifests.run(apply);
        // The namespaces enforce "restricted".
        for (const object of objects) await admit(cluster, object);
      });
    }
  },
);

/** A budget with a number requires a scalable workload; any other workload must not lose a pod. */
function assertScalable(objects: readonly KubeObject[]): void {
  for (const { kind, spec } of objects) {
    if (kind !== "PodDisruptionBudget") continue;
    const { selector } = spec as { selector: { matchLabels: Record<string, string> } };
    const guarded = objects.filter((object) => {
      const { labels = {} } = templateOf(object)?.metadata ?? {};
      return templateOf(object) &&
        Object.entries(selector.matchLabels).every(([name, is]) => labels[name] === is);
    });
    assert.deepEqual(guarded.map(({ kind }) => kind), ["Deployment"]);
  }
}

/** The program accepts the command line. */
function assertParsed([name = "", ...args]: readonly string[]): void {
  const { parser } = find(commandGroups, name);
  const parsed = parseSync(parser, args);
  assert.ok(parsed.success, `${args.join(" ")}: ${JSON.stringify(parsed)}`);
}

/** Probes use named ports, and flags open those ports. */
function assertPorts(
  { args = [], ports = [], ...container }: PodTemplate["spec"]["containers"][number],
): void {
  const open = args.flatMap((word) => {
    const [, name = "", port] = /^--([a-z-]*port)=(\d+)$/.exec(word) ?? [];
    const isElsewhere = ["proxy-server-port", "konnectivity-port"].includes(name);
    return port === undefined || isElsewhere ? [] : [Number(port)];
  });
  assert.deepEqual(ports.map(({ containerPort }) => containerPort).toSorted(), open.toSorted());
  for (const probe of ["startupProbe", "livenessProbe", "readinessProbe"]) {
    const { httpGet } = container[probe] as { httpGet: { port: string; path: string } };
    assert.ok(ports.some(({ name }) => name === httpGet.port), probe);
    assert.equal(httpGet.path, probe === "readinessProbe" ? "/readyz" : "/healthz");
  }
}

/** A Secret provides every file that a flag names. */
function assertFiles(
  args: readonly string[],
  { spec }: PodTemplate,
  objects: readonly KubeObject[],
  given: readonly string[],
): void {
  const volumes = new Map((spec.volumes ?? []).map((volume) => [volume.name, volume]));
  const mounts = [...spec.containers, ...spec.initContainers ?? []].flatMap(({ volumeMounts = [] }) =>
    volumeMounts
  );
  for (const path of args.flatMap((word) => /^--[a-z-]+=(\/etc\/.*)$/.exec(word)?.[1] ?? [])) {
    const [directory, file = ""] = [path.replace(/\/[^/]*$/, ""), path.replace(/^.*\//, "")];
    const mount = mounts.find(({ mountPath }) => mountPath === directory);
    const name = mount && volumes.get(mount.name)?.secret?.secretName;
    assert.ok(name, `nothing is mounted for ${path}`);
    if (given.includes(name)) continue;
    const secret = objects.find(({ kind, metadata }) => kind === "Secret" && metadata.name === name);
    assert.ok(secret && Object.hasOwn(secret["data"] as object, file), `${name} has no ${file}`);
  }
}

/** No extra rights, a read-only root, and resource limits. */
function assertConfined(
  { securityContext, resources }: PodTemplate["spec"]["containers"][number],
  { spec }: PodTemplate,
): void {
  const { fsGroup: _group, ...ofPod } = (spec["securityContext"] ?? {}) as Record<string, unknown>;
  assert.deepEqual({ ...ofPod, ...securityContext as object }, {
    runAsNonRoot: true,
    runAsUser: 65_532,
    runAsGroup: 65_532,
    seccompProfile: { type: "RuntimeDefault" },
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ["ALL"] },
  });
  assert.deepEqual(Object.keys(resources?.requests ?? {}), ["cpu", "memory"]);
}

/** Whether the namespace would admit its pods. */
async function admit(cluster: KubeCluster, { metadata, ...object }: KubeObject): Promise<void> {
  const template = templateOf({ metadata, ...object });
  if (!template) return;
  const answer = await cluster.ask("POST", `/api/v1/namespaces/${metadata.namespace}/pods?dryRun=All`, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "try", labels: template.metadata.labels },
    spec: template.spec,
  });
  assert.equal(answer.status, 201, await answer.text());
  assert.equal(answer.headers.get("warning"), null);
}

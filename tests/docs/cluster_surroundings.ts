import { parse } from "yaml";
import { makeEgressKinds } from "../support/egress_kinds.ts";
import { makePlatform } from "../support/egress_lab.ts";
import { GpgHome } from "../support/gpg_home.ts";
import { KubeCluster } from "../support/kube_cluster.ts";
import { NamedServer } from "../support/kube_instance.ts";
import { pod, service } from "../support/kube_objects.ts";
import { S3Server } from "../support/s3_server.ts";
import type { Start, Surroundings } from "./surroundings.ts";

/** A cluster and its settings for a document. */
export interface ClusterSurroundings extends Surroundings {
  readonly cluster: KubeCluster;
}

/** Starts a cluster with a few Services, and writes a kubeconfig with three names for it. */
export async function clusterSurroundings({ started, paths }: Start): Promise<ClusterSurroundings> {
  const cluster = started.use(await KubeCluster.start(paths.kubernetes));
  const site = started.use(new NamedServer("hello from a pod\n"));
  for (const [namespace, name, port] of services) {
    if (namespace !== "default") await cluster.namespace(namespace);
    const labels = { app: name };
    await cluster.apply(
      pod({ name, namespace, labels, targets: { 8080: site.address } }),
      service({ name, namespace, selector: labels, ports: [{ port, targetPort: 8080 }] }),
    );
    await cluster.untilReady(namespace, name);
  }
  const kubeconfig = parse(cluster.kubeconfig());
  const [{ context }] = kubeconfig.contexts;
  kubeconfig.contexts.push(...["here", "there"].map((name) => ({ name, context })));
  const text = JSON.stringify(kubeconfig);
  return {
    cluster,
    files: { ".kube/config": text, "admin.kubeconfig": text },
    env: { KUBECONFIG_TEXT: text },
    programs: { kubectl: `'${paths.kubectl}'` },
  };
}

/** Creates the kinds of a cluster's outbound proxy and the objects that an installer writes. */
export async function egressSurroundings(
  { cluster }: { readonly cluster: KubeCluster },
): Promise<Surroundings> {
  await makeEgressKinds(cluster);
  for (const name of ["openshift-config", "openshift-config-managed", "postern-egress"]) {
    await cluster.namespace(name);
  }
  await makePlatform(cluster);
  return {};
}

/** Starts a bucket with the cluster's encrypted credentials, and provides the facts of that cluster. */
export async function emergencySurroundings(
  { started, paths, cluster }: Start & { readonly cluster: KubeCluster },
): Promise<Surroundings> {
  const directory = await Deno.makeTempDir({ prefix: "em" });
  started.defer(() => Deno.remove(directory, { recursive: true }));
  const authority = btoa(await Deno.readTextFile(cluster.ca));
  const people = await GpgHome.open(paths.gpg, `${directory}/g`);
  const me = await people.key("me", "ecc", "");
  const s3 = started.use(
    await S3Server.start(paths.versitygw, { directory, region: "rma1", buckets: ["emergency"] }),
  );
  const server = `https://${cluster.address}`;
  const kubeconfig = cluster.kubeconfig({
    cluster: { "certificate-authority": undefined, "certificate-authority-data": authority },
  });
  await s3.putSecrets("emergency", "c-lab", [await people.encrypt(kubeconfig, [me])]);
  const lab = { id: "c-lab", displayName: "Laboratory", facts: {}, dynamicFacts: { talosApiURL: server } };
  const fetched = new Date().toISOString();
  const catalogue = { name: "main", source: "https://api.syn.example.com", fetched, clusters: [lab] };
  return {
    files: {
      ".cache/postern/catalogue/snapshot.json": JSON.stringify({ format: 1, catalogues: [catalogue] }),
      ".config/postern/emergency-access": S3Server.keys.access,
      ".config/postern/emergency-secret": S3Server.keys.secret,
      ".config/postern/me.asc": me.secret,
    },
    stands: { "https://objects.rma1.example.net": s3.endpoint },
  };
}

/** The cluster's Services: namespace, name, port. */
const services = [
  ["default", "productpage", 9080],
  ["shop", "api", 80],
  ["shop", "web", 80],
] as const;

import { merge, object } from "@optique/core/constructs";
import { option } from "@optique/core/primitives";
import type { Fleet } from "../../fleet/mod.ts";
import type { KnownCluster } from "../../clusters/mod.ts";
import { PosternError } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import {
  chosenClusters,
  clusterArgument,
  clusterWords,
  readKnownClusters,
  tellNotes,
  trustOption,
} from "./cluster_options.ts";
import { defineCommand, type RunContext } from "../line/command.ts";
import { giveOut, goesToFile, listenerAddress, type OutputWords, outputWords } from "./kubeconfig_output.ts";
import { words } from "../line/options.ts";

/** Where a kubeconfig goes, and what is in it. */
interface KubeconfigWords extends OutputWords {
  readonly trustsFirstUse: boolean;
  readonly credentials: boolean;
  readonly show: boolean;
}

const kubeconfigWords = merge(
  outputWords,
  object({
    credentials: option("--with-credentials", {
      description: words(
        "Puts in the door's user and password, and tokens and keys of the facts; refused on a terminal.",
      ),
    }),
    show: option("--show", { description: words("Allows --with-credentials on a terminal.") }),
    trustsFirstUse: trustOption,
  }),
);

const what =
  "Cluster, context and user are called as the cluster is; connections go through the door. How to sign in comes " +
  "from the facts of the cluster; where they do not say it, the user is left out, which is told on stderr.";

/** `postern kubeconfig [PATTERN…]`. */
export default defineCommand({
  name: "kubeconfig",
  summary: "prints one kubeconfig for all clusters, or writes it to a file",
  description: `${what} The first of the clusters is the current one.`,
  examples: [
    ["postern kubeconfig 'c-lab-*'", "for the clusters that match"],
    ["postern kubeconfig --file ~/.kube/postern.yaml", "a file of its own, for KUBECONFIG"],
    ["postern kubeconfig --merge", "adds all clusters to ~/.kube/config"],
  ],
  parser: merge(clusterWords, kubeconfigWords),
  async run(values, world, context) {
    const fleet = await readKnownClusters(world, context);
    const clusters = await chosenClusters(fleet, values);
    if (clusters.length === 0) {
      throw new PosternError("usage", "Cannot write a kubeconfig: no cluster matches", {
        hint: "see which there are: postern clusters",
      });
    }
    await giveKubeconfig(world, { fleet, clusters, values }, context);
  },
});

/** `postern clusters NAME kubeconfig`. */
export const clusterKubeconfig = defineCommand({
  name: "clusters NAME kubeconfig",
  summary: "prints the kubeconfig of one cluster, or writes it to a file",
  description: what,
  examples: [
    ["postern clusters c-lab kubeconfig --file ~/.kube/c-lab.yaml", "a file of its own"],
    ["postern clusters c-lab kubeconfig --merge", "adds it to ~/.kube/config"],
    ['KUBECONFIG="$(postern clusters c-lab kubeconfig --temp)" k9s', "for one program"],
  ],
  parser: merge(object({ name: clusterArgument }), kubeconfigWords),
  async run({ name, ...values }, world, context) {
    const fleet = await readKnownClusters(world, context);
    const { findCluster } = await import("../../clusters/mod.ts");
    await giveKubeconfig(world, { fleet, clusters: [findCluster(fleet.clusters, name)], values }, context);
  },
});

async function giveKubeconfig(
  world: World,
  { fleet, clusters, values }: {
    readonly fleet: Fleet;
    readonly clusters: readonly KnownCluster[];
    readonly values: KubeconfigWords;
  },
  context: RunContext,
): Promise<void> {
  const isFile = goesToFile(values);
  if (values.credentials && !isFile && !values.show && world.terminal.isOutput) {
    throw new PosternError("usage", "Cannot show credentials on a terminal", {
      hint: "send them to a program, write them with --file, or add --show",
    });
  }
  const credentials = isFile || values.credentials;
  const proxyUrl = await listenerAddress(world, values.id ?? "default", { credentials, context });
  const { kubeconfigOf } = await import("../../kube/mod.ts");
  const { apiAuthorities } = await import("../../programs/mod.ts");
  const { trustsFirstUse } = values;
  const { signal } = context;
  const authorities = await apiAuthorities(world, clusters, { proxyUrl, trustsFirstUse, signal });
  await tellNotes(world, authorities.notes);
  const { rulesFor } = fleet;
  const { kubeconfig, notes } = kubeconfigOf(clusters, {
    proxyUrl,
    credentials,
    authorities: authorities.byName,
    self: world.process.self,
    rulesFor,
  });
  await tellNotes(world, notes);
  if (kubeconfig.clusters.length === 0) {
    throw new PosternError("config", "Cannot write a kubeconfig: the address of no API is known", {
      hint: "see what is known of them: postern clusters -o yaml",
    });
  }
  await giveOut(world, kubeconfig, values, context);
}

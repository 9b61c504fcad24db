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

/** The options of the kubeconfig commands. */
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
        "Include the instance's user and password, and tokens and keys from facts; a terminal also needs --show.",
      ),
    }),
    show: option("--show", { description: words("Allow --with-credentials when stdout is a terminal.") }),
    trustsFirstUse: trustOption,
  }),
);

const about =
  "The entries for cluster, context and user get the cluster's name; connections go through the instance. The facts of the cluster " +
  "define how to sign in; without such facts, postern omits the user and prints a note on stderr.";

export default defineCommand({
  name: "kubeconfig",
  summary: "Print or write one kubeconfig for many clusters",
  description: `${about} The first cluster becomes the current context.`,
  examples: [
    ["postern kubeconfig 'c-lab-*'", "Print a kubeconfig for the clusters that match"],
    ["postern kubeconfig --file ~/.kube/postern.yaml", "Write a separate file for KUBECONFIG"],
    ["postern kubeconfig --merge", "Add all clusters to ~/.kube/config"],
  ],
  parser: merge(clusterWords, kubeconfigWords),
  async run(values, world, context) {
    const fleet = await readKnownClusters(world, context);
    const clusters = await chosenClusters(fleet, values);
    if (clusters.length === 0) {
      throw new PosternError("usage", "Cannot write a kubeconfig: no cluster matches", {
        hint: "list the clusters: postern clusters",
      });
    }
    await giveKubeconfig(world, { fleet, clusters, values }, context);
  },
});

export const clusterKubeconfig = defineCommand({
  name: "clusters NAME kubeconfig",
  summary: "Print or write the kubeconfig of one cluster",
  description: about,
  examples: [
    ["postern clusters c-lab kubeconfig --file ~/.kube/c-lab.yaml", "Write a separate file"],
    ["postern clusters c-lab kubeconfig --merge", "Add the cluster to ~/.kube/config"],
    ['KUBECONFIG="$(postern clusters c-lab kubeconfig --temp)" k9s', "Use a temporary file for one program"],
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
    throw new PosternError("usage", "Cannot print credentials to a terminal: missing option: --show", {
      hint: "pipe them to a program, write them with --file, or add --show",
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
    throw new PosternError("config", "Cannot write a kubeconfig: no selected cluster has an API address", {
      hint: "look at apiUrl in: postern clusters -o yaml",
    });
  }
  await giveOut(world, kubeconfig, values, context);
}

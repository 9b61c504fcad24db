import { merge, object } from "@optique/core/constructs";
import { optional } from "@optique/core/modifiers";
import { option } from "@optique/core/primitives";
import type { Cluster } from "../../clusters/mod.ts";
import { isPosternError, PosternError } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import { clusterArgument, readKnownClusters, tellNotes } from "./cluster_options.ts";
import { type Command, defineCommand, type RunContext } from "../line/command.ts";
import { giveOut, goesToFile, listenerAddress, outputWords } from "./kubeconfig_output.ts";
import { pathValue, words } from "../line/options.ts";
import { printable } from "../output/printable.ts";

export const emergencyCredentials: Command = commandNamed(
  "emergency-credentials",
  (rest) => `emergency-credentials c-lab ${rest}`,
);

export const clusterEmergencyCredentials: Command = commandNamed(
  "clusters NAME emergency-credentials",
  (rest) => `clusters c-lab emergency-credentials ${rest}`,
);

function commandNamed(name: string, form: (rest: string) => string): Command {
  return defineCommand({
    name,
    summary: "Fetch and decrypt a cluster's emergency kubeconfig",
    description:
      "Fetches the kubeconfig from a bucket in emergency.buckets or in the Passbolt list, and decrypts it with your " +
      "OpenPGP key. Connections go through the instance. postern writes a file only with " +
      "--file, --merge or --temp.",
    examples: [
      [`postern ${form("--file em.yaml")}`, "Write a separate file that only you can read"],
      [`postern ${form("--merge")}`, "Add context emergency-credentials/c-lab to ~/.kube/config"],
      [`KUBECONFIG="$(postern ${form("--temp")})" kubectl get nodes`, "Use the kubeconfig for one program"],
    ],
    parser: merge(
      object({ name: clusterArgument }),
      outputWords,
      object({
        show: option("--show", { description: words("Allow printing the kubeconfig to a terminal.") }),
        privateKeyFile: optional(option("--private-key", pathValue("FILE"), {
          description: words("OpenPGP private key file (default: emergency.privateKeyFile)."),
        })),
        passphraseFile: optional(option("--passphrase-file", pathValue("FILE"), {
          description: words("File with the key's passphrase (default: emergency.passphraseFile)."),
        })),
      }),
    ),
    async run({ name, show, privateKeyFile, passphraseFile, ...output }, world, context) {
      // Before postern fetches anything or prompts for a passphrase.
      if (!goesToFile(output) && !show && world.terminal.isOutput) {
        throw new PosternError("usage", "Cannot print credentials to a terminal: missing option: --show", {
          hint: "write them with --file, --merge or --temp, pipe them to a program, or add --show",
        });
      }
      const { log, signal, globals: { config } } = context;
      const meant = await meantCluster(name, world, context);
      const proxyUrl = await listenerAddress(world, output.id ?? "default", { credentials: true, context });
      const { fetchEmergencyCredentials } = await import("../../programs/mod.ts");
      const { text, notes } = await fetchEmergencyCredentials(world, {
        clusterId: meant.id,
        privateKeyFile,
        passphraseFile,
        log,
        say: (note) => tellNotes(world, [note]),
        config,
      }, { signal });
      await tellNotes(world, notes);
      const { emergencyKubeconfig } = await import("../../emergency/mod.ts");
      const { trustedAuthority } = await import("../../kube/mod.ts");
      const authorityOf = (api: URL) => trustedAuthority(world, api);
      const made = await emergencyKubeconfig(text, { ...meant, proxyUrl, authorityOf });
      await tellNotes(world, made.notes);
      await giveOut(world, made.kubeconfig, output, context);
      if (!output.merge) return;
      const added = printable(made.kubeconfig["current-context"]);
      await world.terminal.err(`postern: use it with: kubectl --context ${added}\n`);
    },
  });
}

interface MeantCluster {
  readonly id: string;
  readonly name: string;
  readonly cluster?: Cluster;
  readonly allowExec: readonly string[];
}

/** The cluster of that name. Without a stored catalogue, the name is used as the id. */
async function meantCluster(name: string, world: World, context: RunContext): Promise<MeantCluster> {
  const { findCluster } = await import("../../clusters/mod.ts");
  const { usualExec } = await import("../../catalogue/mod.ts");
  try {
    const { clusters, rulesFor } = await readKnownClusters(world, context);
    const { name: shown, cluster, catalogue } = findCluster(clusters, name);
    return { id: cluster.id, name: shown, cluster, allowExec: rulesFor(catalogue.name).allowExec };
  } catch (error) {
    if (!isPosternError(error, "config") || error.detail !== "no_catalogue") throw error;
    await tellNotes(world, [`no catalogue is stored; using "${name}" as the cluster's id`]);
    return { id: name, name, allowExec: usualExec };
  }
}

import { merge, object } from "@optique/core/constructs";
import { optional } from "@optique/core/modifiers";
import { option } from "@optique/core/primitives";
import type { Fleet } from "../app/mod.ts";
import type { KnownCluster } from "../clusters/mod.ts";
import { counted, PosternError, type World } from "../core/mod.ts";
import { chosenClusters, clusterName, clusterWords, readClusters, tellNotes } from "./cluster_options.ts";
import { defineCommand, type RunContext } from "./command.ts";
import { fromInstanceOrFiles } from "./from_instance_or_files.ts";
import { instanceOption, pathValue, words } from "./options.ts";
import { printableLines } from "./printable.ts";

/** Where a kubeconfig goes, and what is in it. */
interface KubeconfigWords {
  readonly file: string | undefined;
  readonly merge: boolean;
  readonly temp: boolean;
  readonly force: boolean;
  readonly credentials: boolean;
  readonly show: boolean;
  readonly id: string | undefined;
}

const kubeconfigWords = object({
  file: optional(option("--file", pathValue("FILE"), {
    description: words("Writes it there, readable by you only; what postern did not write is not replaced."),
  })),
  merge: option("--merge", {
    description: words(
      "Adds it to an existing kubeconfig: that of --file, else of $KUBECONFIG, else ~/.kube/config.",
    ),
  }),
  temp: option("--temp", {
    description: words("Writes a temporary file, readable by you only, and prints its path."),
  }),
  force: option("--force", {
    description: words("Replaces a file that postern did not write, or entries that lead elsewhere."),
  }),
  credentials: option("--with-credentials", {
    description: words(
      "Puts in the door's user and password, and tokens and keys of the facts; refused on a terminal.",
    ),
  }),
  show: option("--show", { description: words("Allows --with-credentials on a terminal.") }),
  id: instanceOption(),
});

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
    const fleet = await readClusters(world, context);
    const clusters = await chosenClusters(fleet, values);
    if (clusters.length === 0) {
      throw new PosternError("usage", "Cannot write a kubeconfig: no cluster matches");
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
  parser: merge(object({ name: clusterName }), kubeconfigWords),
  async run({ name, ...values }, world, context) {
    const fleet = await readClusters(world, context);
    const { findCluster } = await import("../clusters/mod.ts");
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
  const { file, merge, temp, force, show } = values;
  const { terminal, files } = world;
  if (temp && (file !== undefined || merge)) {
    throw new PosternError("usage", "Cannot write a kubeconfig: --temp is a file of its own");
  }
  const isFile = file !== undefined || merge || temp;
  if (values.credentials && !isFile && !show && terminal.isOutput) {
    throw new PosternError("usage", "Cannot show credentials on a terminal", {
      hint: "send them to a program, write them with --file, or add --show",
    });
  }
  const credentials = isFile || values.credentials;
  const proxyUrl = await doorAddress(world, values.id ?? "default", { credentials, context });
  const { kubeconfigOf, mergeKubeconfigFile, writeKubeconfigFile, writtenKubeconfig } = await import(
    "../clusters/mod.ts"
  );
  const { rulesFor } = fleet;
  const { kubeconfig, notes } = kubeconfigOf(clusters, { proxyUrl, credentials, rulesFor });
  await tellNotes(world, notes);
  if (kubeconfig.clusters.length === 0) {
    throw new PosternError("config", "Cannot write a kubeconfig: the address of no API is known");
  }
  if (!isFile) return await terminal.out(await writtenKubeconfig(kubeconfig));
  if (temp) {
    const { temporaryKubeconfig } = await import("../app/mod.ts");
    const [first] = kubeconfig.clusters;
    return await terminal.out(`${await temporaryKubeconfig(world, first?.name ?? "", kubeconfig)}\n`);
  }
  const path = file ?? usualKubeconfig(world);
  await (merge ? mergeKubeconfigFile : writeKubeconfigFile)(files, path, kubeconfig, { force });
  const done = merge ? "added to" : "written to";
  await terminal.err(
    `postern: ${counted(kubeconfig.clusters.length, "cluster")} ${done} ${printableLines(path)}\n`,
  );
}

/** What `proxy-url` is, asked of the running door first. */
async function doorAddress(
  world: World,
  id: string,
  { credentials, context }: { readonly credentials: boolean; readonly context: RunContext },
): Promise<string> {
  const { signal } = context;
  const { proxyUrl, socks, needsAuth } = await fromInstanceOrFiles(world, id, context, {
    instance: (door) => door.env({ credentials, signal }),
    files: ({ environmentFromFiles }, sources) => environmentFromFiles(world, sources, { credentials }),
  });
  if (needsAuth && !credentials) {
    throw new PosternError(
      "auth",
      "Cannot write a kubeconfig that works: the door asks for a user and a password",
      { hint: "add --with-credentials, or write a file: --file FILE" },
    );
  }
  return proxyUrl ?? socks.replace(/^socks5h:/, "socks5:");
}

/** Where kubectl writes: the first file of KUBECONFIG, else the usual one. */
function usualKubeconfig({ process, places }: World): string {
  const separator = process.platform === "windows" ? ";" : ":";
  return process.env("KUBECONFIG")?.split(separator).find((path) => path !== "") ??
    `${places.home}/.kube/config`;
}

import { object } from "@optique/core/constructs";
import { multiple, optional } from "@optique/core/modifiers";
import { constant, option } from "@optique/core/primitives";
import { string } from "@optique/core/valueparser";
import type { InferValue } from "@optique/core/parser";
import type { NoProxyList } from "../../roles/mod.ts";
import { PosternError } from "../../words/mod.ts";
import type { World } from "../../world/mod.ts";
import type { PlatformFacts } from "../../egress/mod.ts";
import type { RunContext } from "../line/command.ts";
import { untilSignals } from "../konnectivity/konnectivity_options.ts";
import { outputOption, pathValue, words } from "../line/options.ts";
import { paintFor } from "../output/paint.ts";
import { printValue } from "../output/print_value.ts";
import { printable } from "../output/printable.ts";
import { table } from "../output/table.ts";

const text = (name: `--${string}`, metavar: "NAME" | "URL" | "LIST", about: string) =>
  optional(option(name, string({ metavar }), { description: words(about) }));
const networks = (name: `--${string}`, about: string) =>
  multiple(option(name, string({ metavar: "CIDR" }), { description: words(about) }));

export const noProxyOptions = object({
  action: constant("no-proxy"),
  kubeconfig: optional(option("--kubeconfig", pathValue("FILE"), {
    description: words("Kubeconfig of the cluster (default: $KUBECONFIG, else ~/.kube/config)."),
  })),
  context: text("--context", "NAME", "Context of the kubeconfig (default: the current context)."),
  installConfig: optional(option("--install-config", pathValue("FILE"), {
    description: words("Install-config to read instead of a cluster."),
  })),
  platform: text(
    "--platform",
    "NAME",
    "Platform to assume instead of a cluster's: AWS, Azure, GCP, OpenStack, None or another.",
  ),
  region: text("--region", "NAME", "Region, for AWS."),
  cloud: text("--cloud", "NAME", "Cloud, for Azure (default: AzurePublicCloud)."),
  internalApi: text(
    "--internal-api",
    "URL",
    "Internal URL of the API server, such as https://api-int.…:6443.",
  ),
  serviceNetwork: networks("--service-network", "Network of Services; repeatable."),
  clusterNetwork: networks("--cluster-network", "Network of pods; repeatable."),
  machineNetwork: networks("--machine-network", "Network of machines; repeatable."),
  hosted: option("--hosted", {
    description: words("Assume that the control plane runs in another cluster."),
  }),
  user: text("--no-proxy", "LIST", "Additional noProxy entries (default: those in Proxy/cluster)."),
  list: text("--list", "LIST", "Complete noProxy list to evaluate with --for-url."),
  etcdNames: option("--etcd-names", { description: words("Add the names of etcd's members.") }),
  exclude: multiple(option("--exclude", string({ metavar: "ENTRY" }), {
    description: words("Automatic entry to leave out; repeatable."),
  })),
  proxiesInternalApi: option("--proxy-internal-api", {
    description: words("Leave out the API server's internal name."),
  }),
  urls: multiple(option("--for-url", string({ metavar: "URL" }), {
    description: words("Show whether each client would use the proxy for this URL; repeatable."),
  })),
  output: outputOption(["table", "json", "yaml"], "table"),
});

type Values = InferValue<typeof noProxyOptions>;

export async function runNoProxy(values: Values, world: World, { signal }: RunContext): Promise<number> {
  const { kubeconfig, context, installConfig, user, list, urls, output } = values;
  const { etcdNames, exclude, proxiesInternalApi } = values;
  const facts = typedFacts(values);
  const named = [list, installConfig, facts, kubeconfig ?? context].filter((source) => source !== undefined);
  if (named.length > 1) {
    throw new PosternError(
      "usage",
      "Cannot combine several sources: give a cluster, an install-config, a platform or a list",
    );
  }
  requireUse(values);
  const { noProxyList } = await import("../../roles/mod.ts");
  await using signals = untilSignals(world, signal);
  const automatic = { etcdNames, exclude, proxiesInternalApi };
  const sources = { kubeconfig, context, installConfig, facts, user, list, automatic, urls };
  const made = await noProxyList(world, sources, { signal: signals.first });
  if (output !== "table") await printValue(world, made, output);
  else {
    await world.terminal.err(
      made.warnings.map((warning) => `postern: warning: ${printable(warning)}\n`).join(""),
    );
    await world.terminal.out(urls.length > 0 ? verdictText(made, world) : `${printable(made.noProxy)}\n`);
  }
  return 0;
}

/** Rejects options that the selected source does not use: ignoring them silently would mislead the user. */
function requireUse(values: Values): void {
  const { list, user, etcdNames, exclude, proxiesInternalApi, region, cloud } = values;
  const platform = platformOf(values);
  const changes = [
    ["--no-proxy", user !== undefined],
    ["--etcd-names", etcdNames],
    ["--exclude", exclude.length > 0],
    ["--proxy-internal-api", proxiesInternalApi],
  ] as const;
  const [unused] = changes.find(([, isGiven]) => isGiven && list !== undefined) ?? [];
  if (unused !== undefined) throw noUse(unused, "--list is already complete");
  if (region !== undefined && platform !== "AWS") throw noUse("--region", "it requires --platform AWS");
  if (cloud !== undefined && platform !== "Azure") throw noUse("--cloud", "it requires --platform Azure");
}

function noUse(option: string, why: string): PosternError {
  return new PosternError("usage", `Cannot use ${option}: ${why}`, { hint: `omit ${option}` });
}

/** Accepts any case: install-configs write platforms in lower case, clusters do not. */
function platformOf({ platform }: Values): string | undefined {
  const known = ["AWS", "Azure", "GCP", "OpenStack"];
  return known.find((name) => name.toLowerCase() === platform?.toLowerCase()) ?? platform;
}

/** The description of a cluster from the command line; undefined without such options. */
function typedFacts(values: Values): PlatformFacts | undefined {
  const { region, cloud, internalApi, serviceNetwork, clusterNetwork, machineNetwork, hosted } = values;
  const platform = platformOf(values);
  const typed = [
    platform,
    region,
    cloud,
    internalApi,
    ...serviceNetwork,
    ...clusterNetwork,
    ...machineNetwork,
  ];
  if (!hosted && typed.every((value) => value === undefined)) return undefined;
  return {
    infrastructure: {
      internalApi: internalApi ?? "",
      isHosted: hosted,
      platform,
      ...(platform === "AWS" && { aws: { region: region ?? "" } }),
      ...(platform === "Azure" && { azure: { cloudName: cloud ?? "AzurePublicCloud", armEndpoint: "" } }),
    },
    network: { serviceNetworks: serviceNetwork, clusterNetworks: clusterNetwork },
    install: { machineNetworks: machineNetwork },
  };
}

function verdictText({ verdicts }: NoProxyList, world: World): string {
  const [first] = verdicts;
  const clients = Object.keys(first?.clients ?? {});
  return table(verdicts, [
    { title: "URL", show: ({ url }) => url },
    ...clients.map((client) => ({
      title: client.toUpperCase(),
      show: (row: NoProxyList["verdicts"][number]) =>
        Object.entries(row.clients).find(([name]) => name === client)?.[1] ?? "",
    })),
  ], paintFor(world, "out").dim);
}

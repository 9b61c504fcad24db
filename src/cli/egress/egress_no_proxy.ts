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

/** The options of `postern egress no-proxy`. */
export const noProxyOptions = object({
  action: constant("no-proxy"),
  kubeconfig: optional(option("--kubeconfig", pathValue("FILE"), {
    description: words("A kubeconfig of the cluster (default: KUBECONFIG, else ~/.kube/config)."),
  })),
  context: text("--context", "NAME", "Its context (default: the current one)."),
  installConfig: optional(option("--install-config", pathValue("FILE"), {
    description: words("An install-config, in place of a cluster."),
  })),
  platform: text("--platform", "NAME", "In place of a cluster: AWS, Azure, GCP, OpenStack, None and others."),
  region: text("--region", "NAME", "The region, for AWS."),
  cloud: text("--cloud", "NAME", "The cloud, for Azure (default: AzurePublicCloud)."),
  internalApi: text("--internal-api", "URL", "The API server's internal URL: https://api-int.…:6443."),
  serviceNetwork: networks("--service-network", "A network of Services; may be repeated."),
  clusterNetwork: networks("--cluster-network", "A network of pods; may be repeated."),
  machineNetwork: networks("--machine-network", "A network of machines; may be repeated."),
  hosted: option("--hosted", { description: words("The control plane runs in another cluster.") }),
  user: text("--no-proxy", "LIST", "What an administrator wants besides (default: what Proxy/cluster says)."),
  list: text("--list", "LIST", "Takes this list as it is, to look URLs up in it."),
  etcdNames: option("--etcd-names", { description: words("Adds the names of etcd's members.") }),
  exclude: multiple(option("--exclude", string({ metavar: "ENTRY" }), {
    description: words("An automatic entry to leave out; may be repeated."),
  })),
  proxiesInternalApi: option("--proxy-internal-api", {
    description: words("Leaves the API server's internal name out."),
  }),
  urls: multiple(option("--for-url", string({ metavar: "URL" }), {
    description: words("Says what each client does with this URL; may be repeated."),
  })),
  output: outputOption(["table", "json", "yaml"], "table"),
});

type Values = InferValue<typeof noProxyOptions>;

/** `postern egress no-proxy`. */
export async function runNoProxy(values: Values, world: World, { signal }: RunContext): Promise<number> {
  const { kubeconfig, context, installConfig, user, list, urls, output } = values;
  const { etcdNames, exclude, proxiesInternalApi } = values;
  const facts = typedFacts(values);
  const named = [list, installConfig, facts, kubeconfig ?? context].filter((source) => source !== undefined);
  if (named.length > 1) {
    throw new PosternError(
      "usage",
      "Cannot make one list of several: name a cluster, a file, a platform or a list",
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

/** What would be passed over would look as if it had been heeded. */
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
  if (unused !== undefined) throw noUse(unused, "a --list is taken as it is");
  if (region !== undefined && platform !== "AWS") throw noUse("--region", "it is for --platform AWS");
  if (cloud !== undefined && platform !== "Azure") throw noUse("--cloud", "it is for --platform Azure");
}

function noUse(option: string, why: string): PosternError {
  return new PosternError("usage", `Cannot use ${option}: ${why}`, { hint: `leave out ${option}` });
}

/** In any case: install-configs write them in lower case, clusters do not. */
function platformOf({ platform }: Values): string | undefined {
  const known = ["AWS", "Azure", "GCP", "OpenStack"];
  return known.find((name) => name.toLowerCase() === platform?.toLowerCase()) ?? platform;
}

/** What a person typed of a cluster; undefined where nothing was. */
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

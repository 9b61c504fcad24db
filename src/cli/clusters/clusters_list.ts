import { merge, object } from "@optique/core/constructs";
import type { KnownCluster } from "../../clusters/mod.ts";
import { defineCommand } from "../line/command.ts";
import { ageLine, chosenClusters, clusterWords, readKnownClusters } from "./cluster_options.ts";
import { outputOption } from "../line/options.ts";
import { paintFor } from "../output/paint.ts";
import { printable } from "../output/printable.ts";
import { printValue } from "../output/print_value.ts";
import { type Column, table } from "../output/table.ts";

/** A cluster in the output for programs. It omits the facts, because a fact may contain a token. */
interface ListedCluster {
  /** The cluster's id; prefixed with its catalogue when two catalogues have the same id. */
  readonly name: string;
  readonly id: string;
  readonly displayName: string;
  readonly tenant?: string;
  readonly catalogue: string;
  readonly jumphost?: string;
  readonly apiUrl?: string;
  readonly consoleUrl?: string;
}

const columns: readonly Column<ListedCluster>[] = [
  { title: "ID", show: ({ name }) => name },
  { title: "DISPLAY NAME", show: ({ displayName }) => displayName },
  { title: "JUMPHOST", show: ({ jumphost = "-" }) => jumphost },
  { title: "CONSOLE URL", show: ({ consoleUrl = "-" }) => consoleUrl },
];

/** `postern clusters [PATTERN…]`, `postern clusters list [PATTERN…]`. */
export default defineCommand({
  name: "clusters",
  summary: "List clusters, or run a command in one or each",
  description:
    "Reads the clusters that the last postern update stored, without connecting to the catalogue's API. Each form with " +
    "a NAME, listed below, has its own --help.",
  examples: [
    ["postern clusters", "List all clusters"],
    ["postern clusters lab 'c-prod-*'", "List the clusters that match a pattern"],
    [
      "postern clusters -l 'cloud=exoscale,region in (ch-gva-2, ch-dk-2)'",
      "List the clusters with these facts",
    ],
    ["postern clusters -o json | jq -r '.clusters[].id'", "Print the ids of all clusters"],
  ],
  parser: merge(clusterWords, object({ output: outputOption(["table", "json", "yaml"], "table") })),
  async run({ output, ...wanted }, world, context) {
    const fleet = await readKnownClusters(world, context);
    const { addressesOf } = await import("../../clusters/mod.ts");
    const listed = (await chosenClusters(fleet, wanted)).map((known) => listedCluster(known, addressesOf));
    if (output !== "table") {
      const catalogues = fleet.catalogues.map(({ name, source, fetched }) => ({ name, source, fetched }));
      return await printValue(world, { catalogues, clusters: listed }, output);
    }
    if (listed.length === 0) await world.terminal.err("postern: no cluster matches\n");
    else await world.terminal.out(table(listed, columns, paintFor(world, "out").dim));
    for (const catalogue of fleet.catalogues) {
      await world.terminal.err(`postern: catalogue ${printable(ageLine(catalogue, world))}\n`);
    }
  },
});

function listedCluster(
  { name, catalogue, cluster }: KnownCluster,
  addressesOf: typeof import("../../clusters/mod.ts").addressesOf,
): ListedCluster {
  const { id, displayName, tenant } = cluster;
  const { api, console, jumphost } = addressesOf(cluster);
  return {
    name,
    id,
    displayName,
    ...(tenant !== undefined && { tenant }),
    catalogue: catalogue.name,
    ...(jumphost !== undefined && { jumphost }),
    ...(api && { apiUrl: api.href.replace(/\/$/, "") }),
    ...(console && { consoleUrl: console.href.replace(/\/$/, "") }),
  };
}

import { object } from "@optique/core/constructs";
import { multiple } from "@optique/core/modifiers";
import { argument, option } from "@optique/core/primitives";
import { string } from "@optique/core/valueparser";
import type { ClusterPrograms } from "../../programs/mod.ts";
import type { Fleet } from "../../fleet/mod.ts";
import type { KnownCluster } from "../../clusters/mod.ts";
import { counted, formatAge } from "../../core/mod.ts";
import type { World } from "../../world/mod.ts";
import type { RunContext } from "../line/command.ts";
import { words } from "../line/options.ts";
import { printable } from "../output/printable.ts";

/** The words that select clusters. */
export interface ClusterWords {
  readonly patterns: readonly string[];
  readonly selectors: readonly string[];
  readonly exclude: readonly string[];
}

/** `[PATTERN…] --selector SELECTOR --exclude PATTERN`. */
export const clusterWords = object({
  patterns: multiple(argument(string({ metavar: "PATTERN" }), {
    description: words(
      "Part of a cluster's id, display name or API address; with * or ?, a pattern for all of it.",
    ),
  })),
  selectors: multiple(option("-l", "--selector", string({ metavar: "SELECTOR" }), {
    description: words(
      "Select clusters by facts, as kubectl selects by labels: cloud=exoscale,region in (a, b),!old.",
    ),
  })),
  exclude: multiple(option("--exclude", string({ metavar: "PATTERN" }), {
    description: words("Leave out the clusters that match; repeatable."),
  })),
});

export const clusterArgument = argument(string({ metavar: "NAME" }), {
  description: words(
    "The cluster: any unique part of its id, display name or API address.",
  ),
});

export const trustOption = option("--trust-on-first-use", {
  description: words(
    "When neither a fact nor the system provides the certificate authority, get it from the API server and trust " +
      "it from then on.",
  ),
});

/** Reads the stored clusters; prints notes about their catalogues on stderr. */
export async function readKnownClusters(
  world: World,
  { globals: { config } }: Pick<RunContext, "globals">,
): Promise<Fleet> {
  const { readFleet } = await import("../../fleet/mod.ts");
  const fleet = await readFleet(world, { config });
  await tellNotes(world, fleet.notes);
  return fleet;
}

/** Prepares the kubeconfigs and variables for programs that work in the clusters of `fleet`. */
export async function openPrograms(
  world: World,
  fleet: Fleet,
  { context: { globals: { config }, version, log }, id, trustsFirstUse, signal }: {
    readonly context: Pick<RunContext, "globals" | "version" | "log">;
    readonly id: string | undefined;
    readonly trustsFirstUse: boolean;
    readonly signal: AbortSignal;
  },
): Promise<ClusterPrograms> {
  const { ClusterPrograms } = await import("../../programs/mod.ts");
  return await ClusterPrograms.open(world, fleet, {
    config,
    id,
    trustsFirstUse,
    version,
    log,
    signal,
  });
}

/** The clusters that the words select. */
export async function chosenClusters(
  { clusters }: Fleet,
  { patterns, selectors, exclude }: ClusterWords,
): Promise<readonly KnownCluster[]> {
  const { selectClusters } = await import("../../clusters/mod.ts");
  return selectClusters(clusters, { patterns, selectors, exclude });
}

/** Prints notes on stderr. */
export async function tellNotes({ terminal }: World, notes: readonly string[]): Promise<void> {
  await terminal.err(notes.map((note) => `postern: note: ${printable(note)}\n`).join(""));
}

/** The age of a catalogue: `main: 12 clusters, fetched 3h 2m ago`. */
export function ageLine(
  { name, fetched, clusters }: Fleet["catalogues"][number],
  { clock }: Pick<World, "clock">,
): string {
  const age = formatAge(clock.date().getTime() - Date.parse(fetched));
  return `${name}: ${counted(clusters.length, "cluster")}, fetched ${age} ago`;
}

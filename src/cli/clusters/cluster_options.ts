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

/** Which clusters are meant. */
export interface ClusterWords {
  readonly patterns: readonly string[];
  readonly selectors: readonly string[];
  readonly exclude: readonly string[];
}

/** `[PATTERN…] --selector SELECTOR --exclude PATTERN`. */
export const clusterWords = object({
  patterns: multiple(argument(string({ metavar: "PATTERN" }), {
    description: words(
      "A part of an id, a display name or the address of an API; with * and ? the whole of one.",
    ),
  })),
  selectors: multiple(option("-l", "--selector", string({ metavar: "SELECTOR" }), {
    description: words(
      "Only clusters with these facts, as kubectl has it: cloud=exoscale,region in (a, b),!old.",
    ),
  })),
  exclude: multiple(option("--exclude", string({ metavar: "PATTERN" }), {
    description: words("Leaves out the clusters that match."),
  })),
});

/** The name of one cluster. */
export const clusterArgument = argument(string({ metavar: "NAME" }), {
  description: words(
    "The cluster: any part of its id, its display name or the address of its API that no other has.",
  ),
});

/** `--trust-on-first-use`. */
export const trustOption = option("--trust-on-first-use", {
  description: words(
    "Where neither a fact nor the system knows its certificate authority, asks the API server for it and believes it " +
      "from then on.",
  ),
});

/** The clusters that are known here; what there is to say of where they come from goes to stderr. */
export async function readKnownClusters(
  world: World,
  { globals: { config } }: Pick<RunContext, "globals">,
): Promise<Fleet> {
  const { readFleet } = await import("../../fleet/mod.ts");
  const fleet = await readFleet(world, { config });
  await tellNotes(world, fleet.notes);
  return fleet;
}

/** Makes what programs need to work in those clusters. */
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

/** Those of the clusters that are meant. */
export async function chosenClusters(
  { clusters }: Fleet,
  { patterns, selectors, exclude }: ClusterWords,
): Promise<readonly KnownCluster[]> {
  const { selectClusters } = await import("../../clusters/mod.ts");
  return selectClusters(clusters, { patterns, selectors, exclude });
}

/** Says on stderr what a person should know. */
export async function tellNotes({ terminal }: World, notes: readonly string[]): Promise<void> {
  await terminal.err(notes.map((note) => `postern: note: ${printable(note)}\n`).join(""));
}

/** How old what is known is: `main: 12 clusters, fetched 3h 2m ago`. */
export function ageLine(
  { name, fetched, clusters }: Fleet["catalogues"][number],
  { clock }: Pick<World, "clock">,
): string {
  const age = formatAge(clock.date().getTime() - Date.parse(fetched));
  return `${name}: ${counted(clusters.length, "cluster")}, fetched ${age} ago`;
}

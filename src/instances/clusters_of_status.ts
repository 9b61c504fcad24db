import type { Status } from "../control/mod.ts";

/** The clusters that the transports of an instance reach, without duplicates: `context lab of FILE`. */
export function clustersOf({ transports }: Pick<Status, "transports">): string[] {
  const details = transports.filter(({ type }) => type === "kubernetes").map(({ detail }) => detail);
  return [...new Set(details.filter((detail) => typeof detail === "string"))];
}

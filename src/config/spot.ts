import type { Path } from "./context.ts";

/**
 * The position of a value: its offset, with the positions of its parts. Stored instead of the parser's nodes, which
 * take three times the memory, because rules report their positions later.
 */
export type Spot = number | ListSpot | MapSpot | AliasSpot;

export interface ListSpot {
  readonly kind: "list";
  readonly offset: number;
  readonly items: Spot[];
}

export interface MapSpot {
  readonly kind: "map";
  readonly offset: number;
  readonly keys: string[];
  readonly keyOffsets: number[];
  readonly values: Spot[];
  /** An index of the keys, created at the first search in a large mapping. */
  indexes?: Map<string, number>;
  /** The mappings of a merge key. */
  merged?: Spot;
}

/** An alias: its parts are at another position. */
export interface AliasSpot {
  readonly kind: "alias";
  readonly offset: number;
  readonly target: Spot;
}

/** The offset of the value at a path, or of its key; of the nearest parent if the value is missing. */
export function offsetOf(top: Spot, path: Path, on?: "key"): number {
  let spot = top;
  for (const [index, step] of path.entries()) {
    const part = partOf(spot, step);
    if (!part) return startOf(spot);
    if (on === "key" && index === path.length - 1) return part.key;
    spot = part.value;
  }
  return startOf(spot);
}

function startOf(spot: Spot): number {
  return typeof spot === "number" ? spot : spot.offset;
}

interface Part {
  readonly key: number;
  readonly value: Spot;
}

function partOf(spot: Spot, step: string | number): Part | undefined {
  if (typeof spot === "number") return undefined;
  if (spot.kind === "alias") return partOf(spot.target, step);
  if (spot.kind === "list") {
    const item = typeof step === "number" ? spot.items[step] : undefined;
    return item === undefined ? undefined : { key: startOf(item), value: item };
  }
  const index = indexOf(spot, String(step));
  const key = spot.keyOffsets[index];
  const value = spot.values[index];
  if (key !== undefined && value !== undefined) return { key, value };
  return spot.merged === undefined ? undefined : mergedPart(spot.merged, step);
}

function indexOf(spot: MapSpot, key: string): number {
  if (spot.keys.length < 16) return spot.keys.indexOf(key);
  spot.indexes ??= new Map(spot.keys.map((key, index) => [key, index]));
  return spot.indexes.get(key) ?? -1;
}

/** Finds a part in the mapping of a merge key, or in its list of mappings, of which the first wins. */
function mergedPart(merged: Spot, step: string | number): Part | undefined {
  if (typeof merged === "number") return undefined;
  if (merged.kind === "alias") return mergedPart(merged.target, step);
  if (merged.kind === "map") return partOf(merged, step);
  for (const item of merged.items) {
    const part = partOf(item, step);
    if (part) return part;
  }
  return undefined;
}

import type { Alias, Node, Scalar, YAMLMap, YAMLSeq } from "yaml";
import type { Path } from "./context.ts";
import type { ListSpot, MapSpot, Spot } from "./spot.ts";

type Yaml = typeof import("yaml");

/** A problem at a position in the text. */
export interface Fault {
  readonly offset: number;
  readonly path: Path;
  readonly message: string;
}

/** The content of a document. */
export interface Tree {
  /** Plain data; undefined if a fault made values unreadable. */
  readonly value: unknown;
  readonly spot: Spot;
  readonly faults: readonly Fault[];
}

const deepest = 100;
const mostAliases = 100;
/** The maximum number of values that all aliases insert together. */
const mostAliased = 100_000;

/** The hint for a `*` that YAML reads as an alias. It does not quote the text, which may be a secret. */
export const quoteHint = 'an unquoted * begins a YAML alias: quote a pattern, as in "*" or "*.example.com"';

/**
 * Converts the parser's nodes to plain data. One pass also finds duplicate keys, counts aliases and resolves merge
 * keys: the library takes quadratic time for some of that, and minutes for hostile input.
 */
export function readTree(yaml: Yaml, root: Node | null): Tree {
  if (root === null || (yaml.isScalar(root) && root.value === null)) {
    return { value: {}, spot: 0, faults: [] };
  }
  const reader = new TreeReader(yaml);
  const { value, spot } = reader.read(root, []);
  return { value: reader.isReadable ? value : undefined, spot, faults: reader.faults };
}

interface Read {
  readonly value: unknown;
  readonly spot: Spot;
}

/** The value of an anchor; `size` is undefined until the value is complete. */
interface Anchored extends Read {
  size: number | undefined;
}

class TreeReader {
  readonly faults: Fault[] = [];
  isReadable = true;
  readonly #yaml: Yaml;
  readonly #anchors = new Map<string, Anchored>();
  #aliases = 0;
  #aliased = 0;
  /** The number of values read, including those of aliases. */
  #size = 0;

  constructor(yaml: Yaml) {
    this.#yaml = yaml;
  }

  read(node: Node, path: (string | number)[]): Read {
    this.#size++;
    if (this.#yaml.isScalar(node)) return this.#scalar(node);
    if (this.#yaml.isAlias(node)) return this.#alias(node, path);
    if (path.length > deepest) return this.#fail(node, path, `nested more than ${deepest} levels deep`);
    if (this.#yaml.isMap(node)) return this.#mapping(node, path);
    return this.#list(node as YAMLSeq, path);
  }

  #scalar(node: Scalar): Read {
    const read = { value: node.value, spot: startOf(node) };
    if (node.anchor) this.#anchors.set(node.anchor, { ...read, size: 1 });
    return read;
  }

  #list(node: YAMLSeq, path: (string | number)[]): Read {
    const count = node.items.length;
    // Allocates the final size: arrays that grow keep spare memory.
    const value = new Array<unknown>(count);
    const spot: ListSpot = { kind: "list", offset: startOf(node), items: new Array<Spot>(count) };
    const finish = this.#begin(node, { value, spot });
    for (let index = 0; index < count; index++) {
      const item = nodeOf(node.items[index]);
      path.push(index);
      const read = item ? this.read(item, path) : { value: null, spot: spot.offset };
      path.pop();
      value[index] = read.value;
      spot.items[index] = read.spot;
    }
    finish();
    return { value, spot };
  }

  #mapping(node: YAMLMap, path: (string | number)[]): Read {
    const value: Record<string, unknown> = {};
    const spot = emptyMapSpot(startOf(node), node.items.length);
    let count = 0;
    const finish = this.#begin(node, { value, spot });
    let merged: Read | undefined;
    for (const pair of node.items) {
      const key = nodeOf(pair.key);
      if (!this.#yaml.isScalar(key) || key.value === null) {
        this.#fail(key ?? node, path, "a key must be a string");
        continue;
      }
      const name = String(key.value);
      const isMerge = name === "<<" && key.type === "PLAIN";
      path.push(name);
      if (isMerge ? merged : Object.hasOwn(value, name)) {
        this.#say(startOf(key), path, "is a duplicate key: remove one of them");
      } else {
        const read = this.#valueOf(nodeOf(pair.value), key, path);
        if (isMerge) {
          merged = read;
          spot.merged = read.spot;
          if (!isMergeable(read.value)) {
            this.#fail(key, path, "must be an alias of a mapping, or a list of such aliases");
          }
        } else {
          define(value, name, read.value);
          spot.keys[count] = name;
          spot.keyOffsets[count] = startOf(key);
          spot.values[count++] = read.spot;
        }
      }
      path.pop();
    }
    spot.keys.length = spot.keyOffsets.length = spot.values.length = count;
    if (merged) addMerged(value, merged.value);
    finish();
    return { value, spot };
  }

  /** The value of a key. An empty value gets the position of its key. */
  #valueOf(node: Node | undefined, key: Scalar, path: (string | number)[]): Read {
    if (!node) return { value: null, spot: startOf(key) };
    const read = this.read(node, path);
    const isEmpty = node.range && node.range[0] === node.range[1];
    return isEmpty ? { value: read.value, spot: startOf(key) } : read;
  }

  #alias(node: Alias, path: Path): Read {
    if (++this.#aliases > mostAliases) {
      // Reports this once, not for each further alias.
      return this.#aliases === mostAliases + 1
        ? this.#fail(node, path, `more than ${mostAliases} aliases`)
        : { value: null, spot: startOf(node) };
    }
    const anchored = this.#anchors.get(node.source);
    if (!anchored) return this.#fail(node, path, quoteHint);
    if (anchored.size === undefined) return this.#fail(node, path, "an alias inside its own anchor");
    const isBomb = this.#aliased > mostAliased;
    this.#aliased += anchored.size;
    this.#size += anchored.size;
    if (this.#aliased > mostAliased) {
      return isBomb
        ? { value: null, spot: startOf(node) }
        : this.#fail(node, path, "the aliases expand to too many values");
    }
    return { value: anchored.value, spot: { kind: "alias", offset: startOf(node), target: anchored.spot } };
  }

  /** Registers an anchor before its parts are read; call the result when they are complete. */
  #begin(node: YAMLMap | YAMLSeq, read: Read): () => void {
    if (!node.anchor) return () => {};
    const before = this.#size;
    const anchored: Anchored = { ...read, size: undefined };
    this.#anchors.set(node.anchor, anchored);
    return () => {
      anchored.size = 1 + this.#size - before;
    };
  }

  #say(offset: number, path: Path, message: string): void {
    this.faults.push({ offset, path: [...path], message });
  }

  #fail(node: Node, path: Path, message: string): Read {
    this.#say(startOf(node), path, message);
    this.isReadable = false;
    return { value: null, spot: startOf(node) };
  }
}

function emptyMapSpot(offset: number, count: number): MapSpot {
  return {
    kind: "map",
    offset,
    keys: new Array<string>(count),
    keyOffsets: new Array<number>(count),
    values: new Array<Spot>(count),
  };
}

function startOf(node: Node): number {
  return node.range?.[0] ?? 0;
}

/** A parsed document contains nodes only, although the library's types also allow plain values. */
function nodeOf(value: unknown): Node | undefined {
  return typeof value === "object" && value !== null ? value as Node : undefined;
}

function isMergeable(value: unknown): boolean {
  const sources = Array.isArray(value) ? value : [value];
  return sources.every((one) => typeof one === "object" && one !== null && !Array.isArray(one));
}

/** Explicit keys win over merged ones; among merged mappings, the first wins. */
function addMerged(value: Record<string, unknown>, merged: unknown): void {
  for (const source of Array.isArray(merged) ? merged : [merged]) {
    for (const [key, one] of Object.entries(Object(source))) {
      if (!Object.hasOwn(value, key)) define(value, key, one);
    }
  }
}

/** Defines an own property for any name, also `__proto__`. */
function define(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key !== "__proto__") object[key] = value;
  else Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
}

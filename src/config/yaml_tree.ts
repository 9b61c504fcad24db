import type { Alias, Node, Pair, Scalar, YAMLMap, YAMLSeq } from "yaml";
import type { Path } from "./context.ts";

type Yaml = typeof import("yaml");
type Tree = Node | null;

/** Something wrong at a place in the text. */
export interface Fault {
  readonly offset: number;
  readonly path: Path;
  readonly message: string;
}

const deepest = 100;
const mostAliases = 100;
/** All values that aliases stand for, counted as often as they appear. */
const mostAliased = 100_000;

/** What to do about a `*` that YAML takes for an alias. It does not show what was written: that may be a secret. */
export const quoteHint =
  'an unquoted * begins a YAML alias: to write a pattern put it in quotes, "*" or "*.example.com"';

/**
 * The parser's nodes as plain data, in one pass that also finds equal keys, counts aliases and resolves merge
 * keys: the library's own way takes quadratic time for some of that, and minutes for hostile input.
 */
export class YamlTree {
  readonly faults: Fault[] = [];
  readonly value: unknown;
  readonly #yaml: Yaml;
  readonly #root: Tree;
  readonly #anchors = new Map<string, Anchored>();
  readonly #targets = new Map<Alias, Node>();
  readonly #pairs = new Map<YAMLMap, Map<string, Pair>>();
  #isReadable = true;
  #aliases = 0;
  #size = 0;
  #aliased = 0;

  constructor(yaml: Yaml, root: Tree) {
    this.#yaml = yaml;
    this.#root = root;
    const isEmpty = root === null || (yaml.isScalar(root) && root.value === null);
    this.value = isEmpty ? {} : this.#plain(root, []);
  }

  /** False when the value has holes because of faults. */
  get isReadable(): boolean {
    return this.#isReadable;
  }

  /** The offset of the value at a path, or of its key; of the nearest node around it when there is none. */
  offsetOf(path: Path, on?: "key"): number | undefined {
    let node: Tree | undefined = this.#root;
    let offset = node?.range?.[0];
    for (const [index, step] of path.entries()) {
      const holder = this.#resolved(node);
      if (this.#yaml.isSeq(holder) && typeof step === "number") {
        node = nodeOf(holder.items[step]);
      } else if (this.#yaml.isMap(holder)) {
        const pair = this.#pair(holder, String(step));
        const key = nodeOf(pair?.key);
        if (on === "key" && index === path.length - 1) return key?.range?.[0] ?? offset;
        node = nodeOf(pair?.value);
        // A value that is empty has no place worth showing.
        if (key?.range && (!node?.range || node.range[0] === node.range[1])) return key.range[0];
      } else return offset;
      if (!node?.range) return offset;
      offset = node.range[0];
    }
    return offset;
  }

  #plain(node: Tree, path: (string | number)[]): unknown {
    if (node === null) return null;
    this.#size++;
    if (this.#yaml.isScalar(node)) return this.#scalar(node);
    if (this.#yaml.isAlias(node)) return this.#alias(node, path);
    if (path.length > deepest) return this.#fail(node, path, `nested more than ${deepest} levels deep`);
    if (this.#yaml.isMap(node)) return this.#mapping(node, path);
    return this.#yaml.isSeq(node) ? this.#list(node, path) : null;
  }

  #scalar(node: Scalar): unknown {
    if (node.anchor) this.#anchors.set(node.anchor, { node, value: node.value, size: 1 });
    return node.value;
  }

  #list(node: YAMLSeq, path: (string | number)[]): unknown[] {
    const items: unknown[] = [];
    const anchored = this.#begin(node, items);
    for (let index = 0; index < node.items.length; index++) {
      path.push(index);
      items.push(this.#plain(nodeOf(node.items[index]) ?? null, path));
      path.pop();
    }
    this.#end(anchored);
    return items;
  }

  #mapping(node: YAMLMap, path: (string | number)[]): Record<string, unknown> {
    const entries: Record<string, unknown> = {};
    const anchored = this.#begin(node, entries);
    let merged: unknown[] | undefined;
    for (const pair of node.items) {
      const keyNode = nodeOf(pair.key);
      const key = this.#yaml.isScalar(keyNode) ? String(keyNode.value ?? "") : "";
      path.push(key);
      if (!this.#yaml.isScalar(keyNode) || keyNode.value === null) {
        this.#fail(keyNode ?? node, path.slice(0, -1), "a key must be a text");
      } else if (Object.hasOwn(entries, key) || (key === "<<" && merged)) {
        this.#say(keyNode, path, "is written twice: keep one of them");
      } else {
        const value = this.#plain(nodeOf(pair.value) ?? null, path);
        if (key === "<<" && keyNode.type === "PLAIN") merged = this.#sources(value, keyNode, path);
        else define(entries, key, value);
      }
      path.pop();
    }
    // What is written beside a merge key wins, then the first of the merged.
    for (const source of merged ?? []) {
      if (typeof source !== "object" || source === null) continue;
      for (const [key, value] of Object.entries(source)) {
        if (!Object.hasOwn(entries, key)) define(entries, key, value);
      }
    }
    this.#end(anchored);
    return entries;
  }

  #sources(value: unknown, key: Node, path: Path): unknown[] {
    const sources = Array.isArray(value) ? value : [value];
    const isRight = sources.every((one) => typeof one === "object" && one !== null && !Array.isArray(one));
    if (!isRight) this.#fail(key, path, "must be an alias of a mapping, or a list of such");
    return isRight ? sources : [];
  }

  #alias(node: Alias, path: Path): unknown {
    if (++this.#aliases > mostAliases) {
      if (this.#aliases === mostAliases + 1) this.#fail(node, path, `more than ${mostAliases} aliases`);
      return null;
    }
    const anchored = this.#anchors.get(node.source);
    if (!anchored) return this.#fail(node, path, quoteHint);
    if (anchored.size === undefined) return this.#fail(node, path, "an alias inside of what it stands for");
    this.#aliased += anchored.size;
    this.#size += anchored.size;
    if (this.#aliased > mostAliased) return this.#fail(node, path, "the aliases stand for too many values");
    this.#targets.set(node, anchored.node);
    return anchored.value;
  }

  #begin(node: YAMLMap | YAMLSeq, value: unknown): Anchored | undefined {
    if (!node.anchor) return undefined;
    const anchored: Anchored = { node, value, size: undefined, begin: this.#size };
    this.#anchors.set(node.anchor, anchored);
    return anchored;
  }

  #end(anchored: Anchored | undefined): void {
    if (anchored) anchored.size = 1 + this.#size - (anchored.begin ?? 0);
  }

  #say(node: Node, path: Path, message: string): void {
    this.faults.push({ offset: node.range?.[0] ?? 0, path: [...path], message });
  }

  #fail(node: Node, path: Path, message: string): null {
    this.#say(node, path, message);
    this.#isReadable = false;
    return null;
  }

  #resolved(node: Tree | undefined): Tree | undefined {
    return this.#yaml.isAlias(node) ? this.#targets.get(node) : node;
  }

  #pair(map: YAMLMap, key: string): Pair | undefined {
    let pairs = this.#pairs.get(map);
    if (!pairs) {
      pairs = new Map();
      for (const pair of map.items) {
        const name = this.#yaml.isScalar(pair.key) ? String(pair.key.value) : "";
        if (!pairs.has(name)) pairs.set(name, pair);
      }
      this.#pairs.set(map, pairs);
    }
    return pairs.get(key) ?? this.#mergedPair(pairs.get("<<"), key);
  }

  #mergedPair(merge: Pair | undefined, key: string): Pair | undefined {
    const value = this.#resolved(nodeOf(merge?.value));
    const sources = this.#yaml.isSeq(value) ? value.items.map(nodeOf) : [value];
    for (const source of sources) {
      const map = this.#resolved(source);
      const pair = this.#yaml.isMap(map) ? this.#pair(map, key) : undefined;
      if (pair) return pair;
    }
    return undefined;
  }
}

interface Anchored {
  readonly node: Node;
  readonly value: unknown;
  /** How many values it holds; undefined while it is being read. */
  size: number | undefined;
  readonly begin?: number;
}

/** A parsed document holds nodes only; the library's types allow plain values too. */
function nodeOf(value: unknown): Node | undefined {
  return typeof value === "object" && value !== null ? value as Node : undefined;
}

/** An own property whatever its name: `__proto__` is a name like any other. */
function define(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key !== "__proto__") object[key] = value;
  else Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
}

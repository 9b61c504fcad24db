import type { IpBytes } from "../words/mod.ts";

/** A network of the tree; `value` is missing where it only holds a branch. */
export class NetworkNode<T> {
  readonly bytes: IpBytes;
  readonly bits: number;
  // All fields from the start: nodes of one shape are what makes a lookup fast.
  value: T | undefined = undefined;
  zero: NetworkNode<T> | undefined = undefined;
  one: NetworkNode<T> | undefined = undefined;

  constructor(bytes: IpBytes, bits: number) {
    this.bytes = bytes;
    this.bits = bits;
  }
}

/**
 * A binary tree of the networks of one family, with paths without a branch left out: two nodes at most per
 * network. A lookup goes by single bits and compares only where a network ends.
 */
export class NetworkTree<T> {
  readonly #root: NetworkNode<T>;

  constructor(byteLength: 4 | 16) {
    this.#root = new NetworkNode(new Uint8Array(byteLength), 0);
  }

  /** The node of a network, made if missing. */
  at(bytes: IpBytes, bits: number): NetworkNode<T> {
    let parent = this.#root;
    while (parent.bits < bits) {
      const side = bitAt(bytes, parent.bits) ? "one" : "zero";
      const child = parent[side];
      if (!child) return parent[side] = new NetworkNode(bytes, bits);
      const common = commonBits(child.bytes, bytes, Math.min(child.bits, bits));
      if (common < child.bits) {
        // The child moves below a new node where the two part, which may be the network asked for.
        const above = new NetworkNode<T>(bytes, common);
        above[bitAt(child.bytes, common) ? "one" : "zero"] = child;
        parent[side] = above;
        parent = above;
      } else {
        parent = child;
      }
    }
    return parent;
  }

  /** The shortest network; every address is in it. */
  get root(): NetworkNode<T> {
    return this.#root;
  }
}

/** The next node on the way to an address; whether that lies in it is still to be asked. */
export function nextNetwork<T>(node: NetworkNode<T>, bytes: IpBytes): NetworkNode<T> | undefined {
  if (node.bits >= bytes.length * 8) return undefined;
  return bitAt(bytes, node.bits) ? node.one : node.zero;
}

/** Whether an address lies in a network of its family. */
export function isInside(
  bytes: IpBytes,
  network: { readonly bytes: IpBytes; readonly bits: number },
): boolean {
  return commonBits(network.bytes, bytes, network.bits) === network.bits;
}

/** How many leading bits are equal, at most `limit`. */
function commonBits(a: IpBytes, b: IpBytes, limit: number): number {
  for (let index = 0; index * 8 < limit; index++) {
    const difference = (a[index] ?? 0) ^ (b[index] ?? 0);
    if (difference !== 0) return Math.min(limit, index * 8 + Math.clz32(difference) - 24);
  }
  return limit;
}

function bitAt(bytes: IpBytes, bit: number): boolean {
  return ((bytes[bit >> 3] ?? 0) >> (7 - (bit & 7)) & 1) === 1;
}

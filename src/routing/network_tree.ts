import type { IpBytes } from "../words/mod.ts";

/** A network of the tree; `value` is undefined for a mere branching point. */
export class NetworkNode<T> {
  readonly bytes: IpBytes;
  readonly bits: number;
  // Initialize all fields: nodes of one shape make the lookup fast.
  value: T | undefined = undefined;
  zero: NetworkNode<T> | undefined = undefined;
  one: NetworkNode<T> | undefined = undefined;

  constructor(bytes: IpBytes, bits: number) {
    this.bytes = bytes;
    this.bits = bits;
  }
}

/**
 * A binary tree of the networks of one family, without unbranched paths: at most two nodes per network. A
 * lookup walks by single bits and compares only where a network ends.
 */
export class NetworkTree<T> {
  readonly #root: NetworkNode<T>;

  constructor(byteLength: 4 | 16) {
    this.#root = new NetworkNode(new Uint8Array(byteLength), 0);
  }

  /** Returns the node of a network; creates it if missing. */
  at(bytes: IpBytes, bits: number): NetworkNode<T> {
    let parent = this.#root;
    while (parent.bits < bits) {
      const side = bitAt(bytes, parent.bits) ? "one" : "zero";
      const child = parent[side];
      if (!child) return parent[side] = new NetworkNode(bytes, bits);
      const common = commonBits(child.bytes, bytes, Math.min(child.bits, bits));
      if (common < child.bits) {
        // The child moves below a new node at the first different bit; that node may be the requested
        // network.
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

  /** The empty prefix, which contains every address. */
  get root(): NetworkNode<T> {
    return this.#root;
  }
}

/** Returns the next node toward an address; the caller checks whether the network contains the address. */
export function nextNetwork<T>(node: NetworkNode<T>, bytes: IpBytes): NetworkNode<T> | undefined {
  if (node.bits >= bytes.length * 8) return undefined;
  return bitAt(bytes, node.bits) ? node.one : node.zero;
}

/** Whether a network of the same family contains an address. */
export function isInside(
  bytes: IpBytes,
  network: { readonly bytes: IpBytes; readonly bits: number },
): boolean {
  return commonBits(network.bytes, bytes, network.bits) === network.bits;
}

/** Counts equal leading bits, up to `limit`. */
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

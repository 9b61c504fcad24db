import { pause } from "../../core/mod.ts";
import { KubeWatch, type WatchParts } from "./kube_watch.ts";
import { isLeaseValid, type Lease, leaseOf } from "./leases.ts";

export interface LeaseWatchOptions extends WatchParts {
  readonly namespace: string;
  /** A label selector: `a=b,c=d`. */
  readonly selector: string;
  /** Called after each failed list. */
  readonly onFailure: (error: unknown) => void;
}

/** A held Lease, and when the local clock saw its last renewal. */
interface Held {
  readonly lease: Lease;
  readonly renewedAt: number | undefined;
}

/** Counts the valid Leases with some labels. While the watch is down, the last count remains. */
export class LeaseWatch {
  readonly #options: LeaseWatchOptions;
  readonly #held = new Map<string, Held>();
  #watch: KubeWatch | undefined;
  #known: number | undefined;

  constructor(options: LeaseWatchOptions) {
    this.#options = options;
  }

  /** Undefined until the first list arrives. */
  get count(): number | undefined {
    if (this.#watch?.status().state !== "watching") return this.#known;
    let count = 0;
    for (const held of this.#held.values()) if (this.#isValid(held)) count++;
    return this.#known = count;
  }

  /** Watches until the signal aborts. */
  async run({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    const { namespace, selector, clock, onFailure } = this.#options;
    while (true) {
      this.#watch = new KubeWatch(this.#options, {
        apiVersion: "coordination.k8s.io/v1",
        resource: "leases",
        namespace,
        labels: selector,
        onChange: () => void this.count,
        sink: {
          put: (object, { name }) => this.#put(name, leaseOf(object)),
          remove: ({ name }) => void this.#held.delete(name),
        },
      });
      try {
        await this.#watch.run({ signal });
      } catch (error) {
        signal.throwIfAborted();
        onFailure(error);
      }
      await pause(clock, betweenLists, { signal });
    }
  }

  #put(name: string, lease: Lease | undefined): void {
    if (!lease) return;
    const before = this.#held.get(name);
    const isRenewed = before !== undefined && before.lease.renewed?.getTime() !== lease.renewed?.getTime();
    const renewedAt = isRenewed ? this.#options.clock.now() : before?.renewedAt;
    this.#held.set(name, { lease, renewedAt });
  }

  /** Clocks differ: a Lease that this process saw renewed is valid, whatever time its holder wrote. */
  #isValid({ lease, renewedAt }: Held): boolean {
    const { clock } = this.#options;
    return renewedAt === undefined
      ? isLeaseValid(lease, clock.date())
      : renewedAt + lease.seconds * 1000 > clock.now();
  }
}

/** The pause after a failed list, in ms. */
const betweenLists = 5_000;

import type {
  KubeObject,
  KubeObjects,
  Leadership,
  ObjectKind,
  ObjectPatch,
  ObjectPlace,
  Written,
} from "../../kube/mod.ts";
import type { Counter } from "../../core/mod.ts";
import { PosternError } from "../../words/mod.ts";

type Waiting = { readonly signal: AbortSignal };

export interface FencedObjectsParts {
  readonly objects: KubeObjects;
  readonly leadership: Leadership;
  /** Labels: kind and outcome. */
  readonly writes: Counter;
}

/** The timeout of one request, in ms: a term of leadership is short. */
const longest = 8_000;
/** In ms. Starts no write when less time is left. */
const shortest = 500;

/**
 * Writes objects only while this replica is the leader. Starts no write that may end after another replica
 * becomes the leader.
 */
export class FencedObjects {
  readonly #parts: FencedObjectsParts;

  constructor(parts: FencedObjectsParts) {
    this.#parts = parts;
  }

  async read(kind: ObjectKind, place: ObjectPlace, { signal }: Waiting): Promise<KubeObject | undefined> {
    return await this.#parts.objects.read(kind, place, { signal });
  }

  async create(
    kind: ObjectKind,
    options: Parameters<KubeObjects["create"]>[1],
    { signal }: Waiting,
  ): Promise<Written> {
    return await this.#counted(
      kind,
      this.#parts.objects.create(kind, options, { signal, timeout: this.#time() }),
    );
  }

  async patch(kind: ObjectKind, patch: ObjectPatch, { signal }: Waiting): Promise<Written> {
    return await this.#counted(
      kind,
      this.#parts.objects.patch(kind, patch, { signal, timeout: this.#time() }),
    );
  }

  async #counted({ kind }: ObjectKind, writing: Promise<Written>): Promise<Written> {
    const { writes } = this.#parts;
    try {
      const written = await writing;
      writes.add(1, kind, written.outcome);
      return written;
    } catch (error) {
      writes.add(1, kind, error instanceof PosternError ? error.code : "internal");
      throw error;
    }
  }

  #time(): number {
    const { leadership } = this.#parts;
    leadership.signal.throwIfAborted();
    const left = leadership.remaining();
    if (left >= shortest) return Math.min(longest, left);
    throw new PosternError(
      "unreachable",
      "Cannot write: the Lease ends soon and is not renewed yet",
    );
  }
}

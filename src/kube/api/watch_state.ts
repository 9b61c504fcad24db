import { isMapping } from "../../config/mod.ts";
import { PosternError } from "../../words/mod.ts";
import { metaOf, type ObjectMeta } from "./kube_records.ts";

/** Where the objects of a watch are kept. */
export interface WatchSink {
  put(object: unknown, meta: ObjectMeta): void;
  remove(meta: Pick<ObjectMeta, "namespace" | "name">): void;
}

/** What an event of a watch was. */
export type WatchStep =
  /** Something changed in the sink. */
  | "changed"
  /** Nothing that was not known: a repetition, an event that comes too late, a bookmark. */
  | "same"
  /** All objects that there were at the begin have come (WatchList). */
  | "listed"
  /** The server does not know any more what happened since: begin again with a list. */
  | "gone"
  /** An error that the server sent in the midst of its answer. */
  | { readonly status: number; readonly text: string };

/** How many removed objects are remembered, lest an event that comes too late brings one back. */
const mostRemoved = 500;

/** What a list and the events after it say of one kind of objects: keeps the versions, and has no I/O. */
export class WatchState {
  readonly #sink: WatchSink;
  readonly #held = new Map<string, ObjectMeta>();
  readonly #removed = new Map<string, string>();
  /** Held from before, and not yet seen in the list that is being read. */
  #unseen: Map<string, ObjectMeta> | undefined;
  #resourceVersion: string | undefined;

  constructor(sink: WatchSink) {
    this.#sink = sink;
  }

  get objects(): number {
    return this.#held.size;
  }

  /** Where the watch can be resumed; undefined while there is no whole list. */
  get resourceVersion(): string | undefined {
    return this.#resourceVersion;
  }

  /** A list begins: what it does not name is removed at its end, and meanwhile stays. */
  beginList(): void {
    this.#resourceVersion = undefined;
    this.#removed.clear();
    this.#unseen = new Map(this.#held);
  }

  /** A page of a list; the answer is where the next one begins, or undefined after the last. */
  page(list: unknown): string | undefined {
    const { metadata, items } = isMapping(list) ? list : {};
    if (!isMapping(metadata) || typeof metadata["resourceVersion"] !== "string") {
      throw new PosternError("protocol", "Cannot read the list: it has no version");
    }
    if (Array.isArray(items)) {
      for (const object of items) {
        const meta = metaOf(object);
        if (meta) this.#put(object, meta);
      }
    }
    const next = metadata["continue"];
    if (typeof next === "string" && next !== "") return next;
    this.#endList(metadata["resourceVersion"]);
    return undefined;
  }

  /** An event of the watch. */
  event(value: unknown): WatchStep {
    const { type, object } = isMapping(value) ? value : {};
    if (type === "ERROR") return refused(object);
    if (type === "BOOKMARK") return this.#bookmark(object);
    const meta = metaOf(object);
    if (!meta) {
      throw new PosternError("protocol", "Cannot read the watch: an event has no object with a name");
    }
    if (type === "ADDED" || type === "MODIFIED") return this.#changed(object, meta);
    if (type === "DELETED") return this.#deleted(meta);
    throw new PosternError("protocol", "Cannot read the watch: an event is of no known type");
  }

  #bookmark(object: unknown): WatchStep {
    const { metadata } = isMapping(object) ? object : {};
    const { resourceVersion, annotations } = isMapping(metadata) ? metadata : {};
    if (typeof resourceVersion !== "string") return "same";
    if (!this.#unseen) {
      this.#advance(resourceVersion);
      return "same";
    }
    if (!isMapping(annotations) || annotations["k8s.io/initial-events-end"] !== "true") return "same";
    this.#endList(resourceVersion);
    return "listed";
  }

  #changed(object: unknown, meta: ObjectMeta): WatchStep {
    const key = keyOf(meta);
    const known = this.#held.get(key)?.resourceVersion ?? this.#removed.get(key);
    // While a list is read nothing is too old: the server may have been set back to a backup.
    if (!this.#unseen && known !== undefined && !isNewer(meta.resourceVersion, known)) return "same";
    this.#put(object, meta);
    if (!this.#unseen) this.#advance(meta.resourceVersion);
    return "changed";
  }

  #deleted(meta: ObjectMeta): WatchStep {
    const key = keyOf(meta);
    const known = this.#held.get(key)?.resourceVersion;
    if (!this.#unseen) {
      const latest = known ?? this.#removed.get(key);
      if (latest !== undefined && isNewer(latest, meta.resourceVersion)) return "same";
      this.#removed.set(key, meta.resourceVersion);
      const [oldest] = this.#removed.keys();
      if (this.#removed.size > mostRemoved && oldest !== undefined) this.#removed.delete(oldest);
      this.#advance(meta.resourceVersion);
    }
    if (known === undefined) return "same";
    this.#remove(meta);
    return "changed";
  }

  #put(object: unknown, meta: ObjectMeta): void {
    const key = keyOf(meta);
    this.#unseen?.delete(key);
    this.#removed.delete(key);
    this.#held.set(key, meta);
    this.#sink.put(object, meta);
  }

  #remove(meta: ObjectMeta): void {
    this.#held.delete(keyOf(meta));
    this.#sink.remove(meta);
  }

  #endList(resourceVersion: string): void {
    for (const meta of this.#unseen?.values() ?? []) this.#remove(meta);
    this.#unseen = undefined;
    this.#resourceVersion = resourceVersion;
  }

  #advance(version: string): void {
    if (this.#resourceVersion === undefined || isNewer(version, this.#resourceVersion)) {
      this.#resourceVersion = version;
    }
  }
}

function keyOf({ namespace, name }: ObjectMeta): string {
  return `${namespace}/${name}`;
}

/** Versions are numbers that grow (`compareResourceVersion`, since 1.35 a promise); what is none counts as newer. */
function isNewer(version: string, than: string): boolean {
  if (!/^[1-9][0-9]*$/.test(version) || !/^[1-9][0-9]*$/.test(than)) return version !== than;
  return version.length === than.length ? version > than : version.length > than.length;
}

function refused(object: unknown): WatchStep {
  const { code } = isMapping(object) ? object : {};
  if (code === 410) return "gone";
  return { status: typeof code === "number" ? code : 500, text: JSON.stringify(object ?? {}) };
}

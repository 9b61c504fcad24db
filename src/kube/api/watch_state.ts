import { isMapping } from "../../config/mod.ts";
import { PosternError } from "../../words/mod.ts";
import { metaOf, type ObjectMeta } from "./kube_records.ts";

/** Stores the objects of a watch. */
export interface WatchSink {
  put(object: unknown, meta: ObjectMeta): void;
  remove(meta: Pick<ObjectMeta, "namespace" | "name">): void;
}

/** The effect of a watch event. */
export type WatchStep =
  /** The sink changed. */
  | "changed"
  /** Nothing new: a repetition, a late event or a bookmark. */
  | "same"
  /** All initial objects have arrived (WatchList). */
  | "listed"
  /** The server no longer knows the version: start again with a list. */
  | "gone"
  /** An error that the server sent in the middle of the watch. */
  | { readonly status: number; readonly text: string };

/** How many removed objects are remembered, so that a late event does not restore one. */
const mostRemoved = 500;

/** Applies a list and the events after it to a sink; tracks versions, does no I/O. */
export class WatchState {
  readonly #sink: WatchSink;
  readonly #held = new Map<string, ObjectMeta>();
  readonly #removed = new Map<string, string>();
  /** Objects from before that the current list has not named yet. */
  #unseen: Map<string, ObjectMeta> | undefined;
  #resourceVersion: string | undefined;

  constructor(sink: WatchSink) {
    this.#sink = sink;
  }

  get objects(): number {
    return this.#held.size;
  }

  /** The version from which the watch can resume; undefined without a complete list. */
  get resourceVersion(): string | undefined {
    return this.#resourceVersion;
  }

  /** Begins a list. Objects that it does not name stay until its end, then are removed. */
  beginList(): void {
    this.#resourceVersion = undefined;
    this.#removed.clear();
    this.#unseen = new Map(this.#held);
  }

  /** Applies one page of a list; returns the token of the next page, or undefined after the last. */
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

  event(value: unknown): WatchStep {
    const { type, object } = isMapping(value) ? value : {};
    if (type === "ERROR") return refused(object);
    if (type === "BOOKMARK") return this.#bookmark(object);
    const meta = metaOf(object);
    if (!meta) {
      throw new PosternError("protocol", "Cannot read the watch: an event has no named object");
    }
    if (type === "ADDED" || type === "MODIFIED") return this.#changed(object, meta);
    if (type === "DELETED") return this.#deleted(meta);
    throw new PosternError("protocol", "Cannot read the watch: an event has an unknown type");
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
    // During a list, accept older versions too: the server may have been restored from a backup.
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

/**
 * Versions are increasing numbers (`compareResourceVersion`, guaranteed since 1.35); any other version counts
 * as newer.
 */
function isNewer(version: string, than: string): boolean {
  if (!/^[1-9][0-9]*$/.test(version) || !/^[1-9][0-9]*$/.test(than)) return version !== than;
  return version.length === than.length ? version > than : version.length > than.length;
}

function refused(object: unknown): WatchStep {
  const { code } = isMapping(object) ? object : {};
  if (code === 410) return "gone";
  return { status: typeof code === "number" ? code : 500, text: JSON.stringify(object ?? {}) };
}

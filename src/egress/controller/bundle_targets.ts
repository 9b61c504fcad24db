import { isMapping } from "../../config/mod.ts";
import type { ObjectMeta, WatchSink } from "../../kube/mod.ts";
import { bundleKey } from "../ca_bundle.ts";
import { wantsBundle } from "../inject_bundle.ts";
import type { FencedObjects } from "./fenced_objects.ts";
import { foreignOwner, uidOf, versionOf } from "./ownership.ts";
import { fieldManager, kinds } from "./kinds.ts";
import type { Notes } from "./notes.ts";
import { type Outcome, WorkQueue, type WorkQueueOptions } from "./work_queue.ts";

export interface BundleTargetsParts extends Pick<WorkQueueOptions, "clock" | "random"> {
  readonly objects: FencedObjects;
  readonly notes: Notes;
  /** Also writes fields that another manager owns. */
  readonly takesOver: boolean;
}

/** The kept facts about a ConfigMap. Its text is large, and a cluster has many ConfigMaps. */
interface Target {
  readonly version: string;
  readonly uid: string;
  /** The hash of its bundle, if it is the wanted one. */
  readonly has: string | undefined;
  /** The other manager of our key, if there is one. */
  readonly owner: string | undefined;
}

/** A bundle and its identifying hash. */
export interface WantedBundle {
  readonly text: string;
  readonly hash: string;
}

/**
 * Writes the bundle into the ConfigMaps that request it: once per change, and never into one that already has
 * it.
 */
export class BundleTargets implements AsyncDisposable {
  readonly #parts: BundleTargetsParts;
  readonly #targets = new Map<string, Target>();
  readonly #queue: WorkQueue;
  #wanted: WantedBundle | undefined;

  constructor(parts: BundleTargetsParts, { signal }: { readonly signal: AbortSignal }) {
    this.#parts = parts;
    this.#queue = new WorkQueue(signal, {
      ...parts,
      most: 8,
      work: (key, options) => this.#write(key, options),
      onError: (key, error) => parts.notes.failed(kinds.configMap, placeOf(key), error),
    });
  }

  /** Receives the watch of labeled ConfigMaps. */
  readonly sink: WatchSink = {
    put: (object, meta) => this.#put(object, meta),
    remove: ({ namespace, name }) => {
      const key = `${namespace}/${name}`;
      this.#targets.delete(key);
      this.#queue.remove(key);
    },
  };

  get size(): number {
    return this.#targets.size;
  }

  /** The number of ConfigMaps that wait for a write or keep failing. */
  get pending(): number {
    return this.#queue.size;
  }

  /** Sets the bundle that every target must have. */
  want(bundle: WantedBundle): void {
    if (bundle.hash === this.#wanted?.hash) return;
    this.#wanted = bundle;
    for (const key of this.#targets.keys()) this.#queue.hurry(key);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#queue[Symbol.asyncDispose]();
    this.#targets.clear();
  }

  #put(object: unknown, { namespace, name, resourceVersion }: ObjectMeta): void {
    if (!isMapping(object)) return;
    const key = `${namespace}/${name}`;
    const { data } = object;
    const text = isMapping(data) ? data[bundleKey] : undefined;
    const has = text !== undefined && text === this.#wanted?.text ? this.#wanted?.hash : undefined;
    // An empty text is a placeholder for our bundle.
    const owner = text === undefined || text === "" ? undefined : foreignOwner(object, ["data", bundleKey]);
    this.#targets.set(key, { version: resourceVersion, uid: uidOf(object), has, owner });
    if (has === undefined && wantsBundle(object)) this.#queue.add(key);
  }

  async #write(key: string, { signal }: { readonly signal: AbortSignal }): Promise<Outcome> {
    const { objects, notes, takesOver } = this.#parts;
    const target = this.#targets.get(key);
    const wanted = this.#wanted;
    if (!target || !wanted || target.has === wanted.hash) return "done";
    const place = placeOf(key);
    if (target.owner !== undefined && !takesOver) {
      notes.foreign(kinds.configMap, place, `"${target.owner}" writes "${bundleKey}"`);
      return "done";
    }
    const metadata = { ...place, resourceVersion: target.version, uid: target.uid };
    const written = await objects.patch(kinds.configMap, {
      ...place,
      type: "apply",
      manager: fieldManager,
      // Safe: the code above has checked the owner of exactly this version.
      force: true,
      body: { metadata, data: { [bundleKey]: wanted.text } },
    }, { signal });
    if (written.outcome === "missing") return "done";
    if (written.outcome === "conflict") return await this.#readAgain(key, target, { signal });
    notes.done(kinds.configMap, place);
    if (this.#targets.get(key) === target) {
      this.#targets.set(key, { ...target, version: versionOf(written.object), has: wanted.hash });
    }
    return "done";
  }

  /**
   * Reads a ConfigMap again after a conflict: another client was faster, or our write succeeded without a
   * response.
   */
  async #readAgain(
    key: string,
    before: Target,
    { signal }: { readonly signal: AbortSignal },
  ): Promise<Outcome> {
    const place = placeOf(key);
    const object = await this.#parts.objects.read(kinds.configMap, place, { signal });
    // The watch may have delivered a newer version in the meantime.
    if (this.#targets.get(key) !== before) return "again";
    if (object && wantsBundle(object)) this.#put(object, { ...place, resourceVersion: versionOf(object) });
    else this.#targets.delete(key);
    return "again";
  }
}

function placeOf(key: string): { readonly namespace: string; readonly name: string } {
  const slash = key.indexOf("/");
  return { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

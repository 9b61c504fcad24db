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
  /** Writes also what another one owns. */
  readonly takesOver: boolean;
}

/** What is kept of a ConfigMap: its text is large, and there are many. */
interface Target {
  readonly version: string;
  readonly uid: string;
  /** Which bundle it has, of those that there were while we looked. */
  readonly has: string | undefined;
  /** Who else has written our key. */
  readonly owner: string | undefined;
}

/** A bundle, and what tells it from others. */
export interface WantedBundle {
  readonly text: string;
  readonly hash: string;
}

/** The ConfigMaps that ask for the bundle: each is written once for each change, and never when it has it. */
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

  /** For the watch of those with the label. */
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

  /** How many are still to be written, or cannot be. */
  get pending(): number {
    return this.#queue.size;
  }

  /** What all shall have from now on. */
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
    // An empty text is a place kept for us.
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
      notes.foreign(kinds.configMap, place, `"${bundleKey}" is written by "${target.owner}"`);
      return "done";
    }
    const metadata = { ...place, resourceVersion: target.version, uid: target.uid };
    const written = await objects.patch(kinds.configMap, {
      ...place,
      type: "apply",
      manager: fieldManager,
      // Whom it may be taken from was decided above, of this very version.
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

  /** Somebody was quicker, or our own write was done although nobody answered. */
  async #readAgain(
    key: string,
    before: Target,
    { signal }: { readonly signal: AbortSignal },
  ): Promise<Outcome> {
    const place = placeOf(key);
    const object = await this.#parts.objects.read(kinds.configMap, place, { signal });
    // What the watch has told meanwhile is not older.
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

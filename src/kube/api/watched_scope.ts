import { PosternError } from "../../words/mod.ts";
import { Tasks, unlessAborted } from "../../core/mod.ts";
import type { WatchStatus } from "./cluster_view.ts";
import { serviceRecord, sliceRecord } from "./kube_records.ts";
import { KubeWatch, type WatchParts } from "./kube_watch.ts";
import { ServiceTable } from "../services/service_table.ts";

/** A namespace, or (undefined) the whole cluster, whose Services and endpoints two watches hold. */
export class WatchedScope implements AsyncDisposable {
  readonly namespace: string | undefined;
  readonly table = new ServiceTable();
  /** When a caller last asked for it, by the clock. */
  lastUsed: number;
  /** When its first list failed, by the clock; this scope is then unusable. */
  failedAt: number | undefined;
  /**
   * Whether that failure was a sign-in, which waits for a user. A retry then sends no request, so it needs no
   * pause.
   */
  hasFailedSignIn = false;
  readonly #parts: WatchParts;
  readonly #watches: readonly KubeWatch[];
  readonly #tasks: Tasks;
  readonly #synced: Promise<unknown>;

  constructor(namespace: string | undefined, parts: WatchParts, onChange: () => void) {
    this.namespace = namespace;
    this.#parts = parts;
    this.lastUsed = parts.clock.now();
    const { table } = this;
    this.#watches = [
      new KubeWatch(parts, {
        apiVersion: "v1",
        resource: "services",
        namespace,
        onChange,
        sink: {
          put: (object, meta) => table.putService(serviceRecord(object, meta)),
          remove: ({ namespace, name }) => table.removeService(namespace, name),
        },
      }),
      new KubeWatch(parts, {
        apiVersion: "discovery.k8s.io/v1",
        resource: "endpointslices",
        namespace,
        onChange,
        sink: {
          put: (object, { namespace, name }) => table.putSlice(namespace, name, sliceRecord(object)),
          remove: ({ namespace, name }) => table.removeSlice(namespace, name),
        },
      }),
    ];
    // Callers of `ready` get the error of a failed first list.
    this.#tasks = new Tasks(undefined, () => {});
    this.#synced = Promise.all(this.#watches.map((watch) => watch.synced));
    this.#synced.catch((error) => {
      this.failedAt = parts.clock.now();
      this.hasFailedSignIn = error instanceof PosternError && error.detail === "sign_in";
      this.#tasks.abort();
    });
    for (const watch of this.#watches) this.#tasks.spawn((signal) => watch.run({ signal }));
  }

  get isSynced(): boolean {
    return this.#watches.every((watch) => watch.isSynced);
  }

  /** Waits until all objects have arrived; throws the reason if they do not. */
  async ready({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    this.lastUsed = this.#parts.clock.now();
    for (const watch of this.#watches) watch.hurry();
    await unlessAborted(this.#synced, signal);
  }

  /** Resumes the watches on new connections. */
  renew(): void {
    for (const watch of this.#watches) watch.renew();
  }

  status(): readonly WatchStatus[] {
    return this.#watches.map((watch) => watch.status());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#tasks[Symbol.asyncDispose]();
  }
}

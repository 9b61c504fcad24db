import { isMapping, type Mapping } from "../../config/mod.ts";
import type { KubeObject, ObjectKind, ObjectMeta, WatchSink } from "../../kube/mod.ts";
import { injectedAnnotation, injectProxy, type ProxyInjection } from "../inject_proxy.ts";
import type { ProxyStatus } from "../proxy_spec.ts";
import type { FencedObjects } from "./fenced_objects.ts";
import { fieldManager, kinds } from "./kinds.ts";
import type { Notes } from "./notes.ts";
import { isAskedFor, uidOf, versionOf } from "./ownership.ts";
import { type Outcome, WorkQueue, type WorkQueueOptions } from "./work_queue.ts";

export interface WorkloadTargetsParts extends Pick<WorkQueueOptions, "clock" | "random"> {
  readonly objects: FencedObjects;
  readonly notes: Notes;
}

/** The kinds whose pods can get the proxy's variables. */
export const workloadKinds = [kinds.deployment, kinds.daemonSet, kinds.statefulSet] as const;

/**
 * Writes the proxy's variables into annotated Deployments, DaemonSets and StatefulSets. Pods roll out only
 * for new values.
 */
export class WorkloadTargets implements AsyncDisposable {
  readonly #parts: WorkloadTargetsParts;
  /** Maps `KIND/NAMESPACE/NAME` to the values it was last checked for. The objects are not kept. */
  readonly #targets = new Map<string, string | undefined>();
  readonly #queue: WorkQueue;
  #wanted: { readonly status: ProxyStatus; readonly id: string } | undefined;

  constructor(parts: WorkloadTargetsParts, { signal }: { readonly signal: AbortSignal }) {
    this.#parts = parts;
    this.#queue = new WorkQueue(signal, {
      ...parts,
      most: 8,
      work: (key, options) => this.#write(key, options),
      onError: (key, error) => {
        const { kind, place } = targetOf(key);
        parts.notes.failed(kind, place, error);
      },
    });
  }

  sinkOf(kind: ObjectKind): WatchSink {
    return {
      put: (object, meta) => this.#put(kind, object, meta),
      remove: ({ namespace, name }) => this.#forget(`${kind.kind}/${namespace}/${name}`),
    };
  }

  get size(): number {
    return this.#targets.size;
  }

  /** The number of workloads that wait for a check or keep failing. */
  get pending(): number {
    return this.#queue.size;
  }

  /** Sets the values that every target must have. */
  want(status: ProxyStatus): void {
    const id = JSON.stringify([status.httpProxy, status.httpsProxy, status.noProxy]);
    if (id === this.#wanted?.id) return;
    this.#wanted = { status, id };
    for (const key of this.#targets.keys()) this.#queue.hurry(key);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#queue[Symbol.asyncDispose]();
    this.#targets.clear();
  }

  #forget(key: string): void {
    this.#targets.delete(key);
    this.#queue.remove(key);
  }

  #put(kind: ObjectKind, object: unknown, { namespace, name }: ObjectMeta): void {
    const key = `${kind.kind}/${namespace}/${name}`;
    if (!isMapping(object) || !isAskedFor(object)) return this.#forget(key);
    const wanted = this.#wanted;
    const injection = wanted && injectProxy(object, wanted.status);
    this.#targets.set(key, wanted?.id);
    if (!injection) return;
    if (injection.isChanged) return this.#queue.add(key);
    this.#queue.remove(key);
    this.#tell(kind, { namespace, name }, injection);
  }

  async #write(key: string, { signal }: { readonly signal: AbortSignal }): Promise<Outcome> {
    const { objects, notes } = this.#parts;
    const wanted = this.#wanted;
    if (!wanted || !this.#targets.has(key)) return "done";
    const { kind, place } = targetOf(key);
    const object = await objects.read(kind, place, { signal });
    if (!object) return "done";
    const injection = injectProxy(object, wanted.status);
    this.#tell(kind, place, injection);
    if (!injection.isChanged || !isMapping(injection.object)) return "done";
    const written = await objects.patch(kind, {
      ...place,
      type: "merge",
      manager: fieldManager,
      body: changeOf(object, injection.object),
    }, { signal });
    if (written.outcome === "conflict") return "again";
    if (written.outcome === "written") notes.done(kind, place);
    return "done";
  }

  #tell(
    kind: ObjectKind,
    place: { readonly namespace: string; readonly name: string },
    { problems, warnings }: ProxyInjection,
  ): void {
    for (const why of [...problems, ...warnings]) this.#parts.notes.notInjected(kind, place, why);
  }
}

/** The patch for the containers and our annotation, valid only for the object that was read. */
function changeOf(before: KubeObject, after: KubeObject): KubeObject {
  const injected = annotationsOf(after)[injectedAnnotation];
  const isMarked = injected === annotationsOf(before)[injectedAnnotation];
  const podSpec = podSpecOf(after);
  const former = podSpecOf(before);
  const lists = ["containers", "initContainers"].filter((key) => podSpec[key] !== former[key]);
  return {
    metadata: {
      uid: uidOf(before),
      resourceVersion: versionOf(before),
      ...(!isMarked && { annotations: { [injectedAnnotation]: injected ?? null } }),
    },
    ...(lists.length > 0 && {
      spec: { template: { spec: Object.fromEntries(lists.map((key) => [key, podSpec[key]])) } },
    }),
  };
}

function annotationsOf(object: KubeObject): Mapping {
  return mappingAt(object, ["metadata", "annotations"]);
}

function podSpecOf(object: KubeObject): Mapping {
  return mappingAt(object, ["spec", "template", "spec"]);
}

function mappingAt(object: KubeObject, path: readonly string[]): Mapping {
  let at: unknown = object;
  for (const step of path) at = isMapping(at) ? at[step] : undefined;
  return isMapping(at) ? at : {};
}

function targetOf(
  key: string,
): { readonly kind: ObjectKind; readonly place: { readonly namespace: string; readonly name: string } } {
  const [kindName, namespace = "", name = ""] = key.split("/");
  const kind = workloadKinds.find(({ kind }) => kind === kindName) ?? kinds.deployment;
  return { kind, place: { namespace, name } };
}

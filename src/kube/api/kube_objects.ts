import { isMapping } from "../../config/mod.ts";
import { PosternError } from "../../words/mod.ts";
import type { KubeApi, KubeRequest } from "./kube_api.ts";
import { kubeValue, statusMessage } from "./kube_refusal.ts";
import { apiRoot } from "./watch_question.ts";

/** A kind of object, with its names in paths and bodies. */
export interface ObjectKind {
  /** `v1`, `apps/v1`. */
  readonly apiVersion: string;
  readonly kind: string;
  /** `deployments`. */
  readonly resource: string;
}

/** An object as the API returns it. */
export type KubeObject = Readonly<Record<string, unknown>>;

/** Identifies an object of a kind; cluster-scoped kinds have no namespace. */
export interface ObjectPlace {
  readonly namespace?: string;
  readonly name: string;
}

/**
 * A change of an object. If its `metadata` contains a version, the server rejects it after any concurrent
 * write.
 */
export interface ObjectPatch extends ObjectPlace {
  /** `apply` is a server-side apply, which creates a missing object. */
  readonly type: "apply" | "merge" | "strategic";
  /** The writer's name in `managedFields`. */
  readonly manager: string;
  /** For `apply`: takes over fields that other managers own. */
  readonly force?: boolean;
  readonly subresource?: "status";
  readonly body: KubeObject;
  /** Only reports the result of the change. */
  readonly isDryRun?: boolean;
}

/** The result of a write; `conflict` and `missing` changed nothing. */
export type Written =
  | { readonly outcome: "written"; readonly object: KubeObject }
  /** Another client has written since, owns a field, or has created an object with this name. */
  | { readonly outcome: "conflict"; readonly why: string }
  /** The object or its namespace does not exist. */
  | { readonly outcome: "missing"; readonly why: string };

export interface AskOptions {
  readonly signal: AbortSignal;
  /** Timeout of the whole exchange, in ms. */
  readonly timeout?: number;
}

const patchTypes = {
  apply: "application/apply-patch+yaml",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
} as const;

/** A write returns only the metadata, because objects may be large. */
const metadataOnly = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";

/** Reads and writes single objects of any kind. */
export class KubeObjects {
  readonly #api: KubeApi;

  constructor(api: KubeApi) {
    this.#api = api;
  }

  /** Undefined if the object or its kind does not exist. */
  async read(kind: ObjectKind, place: ObjectPlace, options: AskOptions): Promise<KubeObject | undefined> {
    const { status, text } = await this.#ask({ path: pathOf(kind, place) }, options);
    if (status === 404) return undefined;
    return this.#object(status, text, `get ${nameOf(kind, place)}`);
  }

  /** Creates an object; `conflict` if the name is taken. */
  async create(
    kind: ObjectKind,
    { namespace, manager, body }: {
      readonly namespace?: string;
      readonly manager: string;
      readonly body: KubeObject;
    },
    options: AskOptions,
  ): Promise<Written> {
    const path = `${listPathOf(kind, namespace)}?${new URLSearchParams({ fieldManager: manager })}`;
    const request = { method: "POST", path, body: { apiVersion: kind.apiVersion, kind: kind.kind, ...body } };
    return this.#written(await this.#ask(request, options), `create ${kind.resource}`);
  }

  async patch(kind: ObjectKind, patch: ObjectPatch, options: AskOptions): Promise<Written> {
    const { type, manager, force, subresource, isDryRun, body } = patch;
    const query = new URLSearchParams({
      fieldManager: manager,
      ...(force !== undefined && type === "apply" && { force: String(force) }),
      ...(isDryRun === true && { dryRun: "All" }),
    });
    const below = subresource === undefined ? "" : `/${subresource}`;
    const path = `${pathOf(kind, patch)}${below}?${query}`;
    const answer = await this.#ask({
      method: "PATCH",
      path,
      fields: [
        ["Content-Type", patchTypes[type]],
        // A status is small, and the caller needs the result.
        ...(subresource === undefined ? [["Accept", metadataOnly] as const] : []),
      ],
      body: { apiVersion: kind.apiVersion, kind: kind.kind, ...body },
    }, options);
    return this.#written(answer, `patch ${nameOf(kind, patch)}${below}`);
  }

  async #ask(
    request: KubeRequest,
    { signal, timeout }: AskOptions,
  ): Promise<{ status: number; text: string }> {
    const asked = { ...request, ...(timeout !== undefined && { timeout }) };
    const { status, body } = await this.#api.request(asked, { signal });
    return { status, text: new TextDecoder().decode(body) };
  }

  #written({ status, text }: { status: number; text: string }, what: string): Written {
    if (status === 409) return { outcome: "conflict", why: statusMessage(text) };
    if (status === 404) return { outcome: "missing", why: statusMessage(text) };
    return { outcome: "written", object: this.#object(status, text, what) };
  }

  #object(status: number, text: string, what: string): KubeObject {
    const value = kubeValue({ status, text, what, cluster: this.#api.name });
    if (isMapping(value)) return value;
    throw new PosternError("protocol", `Cannot ${what} of the cluster "${this.#api.name}": no object`);
  }
}

/** The collection path of a kind. */
function listPathOf({ apiVersion, resource }: ObjectKind, namespace?: string): string {
  const where = namespace === undefined ? "" : `/namespaces/${encodeURIComponent(namespace)}`;
  return `${apiRoot(apiVersion)}${where}/${resource}`;
}

function pathOf(kind: ObjectKind, { namespace, name }: ObjectPlace): string {
  return `${listPathOf(kind, namespace)}/${encodeURIComponent(name)}`;
}

function nameOf({ resource }: ObjectKind, { namespace, name }: ObjectPlace): string {
  return `${resource} "${namespace === undefined ? name : `${namespace}/${name}`}"`;
}

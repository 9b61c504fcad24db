import { isMapping } from "../../config/mod.ts";
import { PosternError } from "../../words/mod.ts";
import type { KubeApi, KubeRequest } from "./kube_api.ts";
import { statusMessage, valueOf } from "./kube_refusal.ts";
import { apiRoot } from "./watch_question.ts";

/** A kind of objects, as paths and bodies name it. */
export interface ObjectKind {
  /** `v1`, `apps/v1`. */
  readonly apiVersion: string;
  readonly kind: string;
  /** `deployments`. */
  readonly resource: string;
}

/** An object as the API has it. */
export type KubeObject = Readonly<Record<string, unknown>>;

/** Which object of its kind; without a namespace for kinds of the whole cluster. */
export interface ObjectPlace {
  readonly namespace?: string;
  readonly name: string;
}

/** A change of an object. A version in its `metadata` has it refused where somebody else has written since. */
export interface ObjectPatch extends ObjectPlace {
  /** `apply` is a server-side apply, and makes an object that is not there. */
  readonly type: "apply" | "merge" | "strategic";
  /** Who writes, as `managedFields` tell it. */
  readonly manager: string;
  /** For `apply`: takes fields that others own. */
  readonly force?: boolean;
  readonly subresource?: "status";
  readonly body: KubeObject;
  /** Says what would become of it, and changes nothing. */
  readonly isDryRun?: boolean;
}

/** What became of a write; `conflict` and `missing` changed nothing. */
export type Written =
  | { readonly outcome: "written"; readonly object: KubeObject }
  /** Somebody else has written since, owns a field of it, or has made one of this name. */
  | { readonly outcome: "conflict"; readonly why: string }
  /** The object is gone, or its namespace. */
  | { readonly outcome: "missing"; readonly why: string };

export interface AskOptions {
  readonly signal: AbortSignal;
  /** For the whole exchange, in ms. */
  readonly timeout?: number;
}

const patchTypes = {
  apply: "application/apply-patch+yaml",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
} as const;

/** Of what is written only the metadata comes back: objects may be large. */
const metadataOnly = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";

/** Reads and writes single objects of any kind. */
export class KubeObjects {
  readonly #api: KubeApi;

  constructor(api: KubeApi) {
    this.#api = api;
  }

  /** Undefined where there is none, or no such kind. */
  async read(kind: ObjectKind, place: ObjectPlace, options: AskOptions): Promise<KubeObject | undefined> {
    const { status, text } = await this.#ask({ path: pathOf(kind, place) }, options);
    if (status === 404) return undefined;
    return this.#object(status, text, `get ${nameOf(kind, place)}`);
  }

  /** Makes an object; `conflict` where one of its name is there. */
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
        // A status is small, and what became of it is of interest.
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
    const value = valueOf({ status, text, what, cluster: this.#api.name });
    if (isMapping(value)) return value;
    throw new PosternError("protocol", `Cannot ${what} of the cluster "${this.#api.name}": no object`);
  }
}

/** Where all objects of a kind are. */
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

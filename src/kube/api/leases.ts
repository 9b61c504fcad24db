import { asMapping, isMapping, type Mapping } from "../../config/mod.ts";
import { PosternError } from "../../words/mod.ts";
import type { KubeApi } from "./kube_api.ts";
import { metaOf } from "./kube_records.ts";
import { kubeValue } from "./kube_refusal.ts";

/** A Lease of `coordination.k8s.io/v1`: who holds something, and until when. */
export interface Lease extends LeaseFields {
  readonly name: string;
  readonly resourceVersion: string;
  /** The object as received, including fields not listed here. */
  readonly object: Mapping;
}

/** The fields that the holder of a Lease writes. */
export interface LeaseFields {
  /** Empty if the Lease is not held. */
  readonly holder: string;
  /** How long a renewal is valid, in s. */
  readonly seconds: number;
  readonly acquired: Date | undefined;
  readonly renewed: Date | undefined;
  /** How many times the holder changed. */
  readonly transitions: number;
  readonly labels: Readonly<Record<string, string>>;
}

type Waiting = { readonly signal: AbortSignal };

/**
 * The Leases of one namespace. After a concurrent write by another client, a write reports that and changes
 * nothing.
 */
export class Leases {
  readonly #api: Pick<KubeApi, "name" | "request">;
  readonly #namespace: string;

  constructor(api: Pick<KubeApi, "name" | "request">, namespace: string) {
    this.#api = api;
    this.#namespace = namespace;
  }

  /** Undefined if the Lease does not exist. */
  async read(name: string, { signal }: Waiting): Promise<Lease | undefined> {
    const { status, text } = await this.#ask({ path: this.#path(name) }, signal);
    return status === 404 ? undefined : this.#lease("get", status, text);
  }

  /** Lists the Leases that match a selector (`a=b,c=d`). */
  async list(selector: string, { signal }: Waiting): Promise<Lease[]> {
    const path = `${this.#path()}?${new URLSearchParams({ labelSelector: selector })}`;
    const { status, text } = await this.#ask({ path }, signal);
    const { items } = asMapping(this.#object("list", status, text));
    return (Array.isArray(items) ? items : []).flatMap((item) => leaseOf(item) ?? []);
  }

  /** Lists the Leases of `list()` that have expired at a time. */
  async listExpired(selector: string, at: Date, options: Waiting): Promise<Lease[]> {
    return (await this.list(selector, options)).filter((lease) => !isLeaseValid(lease, at));
  }

  /** Undefined if another client created it first. */
  async create(name: string, fields: LeaseFields, { signal }: Waiting): Promise<Lease | undefined> {
    const metadata = { name, namespace: this.#namespace, labels: fields.labels };
    const body = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata, spec: specOf(fields) };
    const { status, text } = await this.#ask({ method: "POST", path: this.#path(), body }, signal);
    return status === 409 ? undefined : this.#lease("create", status, text);
  }

  /** Writes the changes; undefined if another client wrote or removed the Lease since it was read. */
  async update(
    lease: Lease,
    changes: Partial<LeaseFields>,
    { signal }: Waiting,
  ): Promise<Lease | undefined> {
    const { object } = lease;
    const fields = { ...lease, ...changes };
    const metadata = { ...asMapping(object["metadata"]), labels: fields.labels };
    const body = { ...object, metadata, spec: { ...asMapping(object["spec"]), ...specOf(fields) } };
    const { status, text } = await this.#ask({ method: "PUT", path: this.#path(lease.name), body }, signal);
    return status === 409 || status === 404 ? undefined : this.#lease("update", status, text);
  }

  /**
   * Removes a Lease in the version that was read, or in any version by its name; false if it is gone or has
   * changed.
   */
  async remove(lease: Lease | string, { signal }: Waiting): Promise<boolean> {
    const [name, body] = typeof lease === "string"
      ? [lease, undefined]
      : [lease.name, { preconditions: { resourceVersion: lease.resourceVersion } }];
    const request = { method: "DELETE", path: this.#path(name), body };
    const { status, text } = await this.#ask(request, signal);
    if (status === 404 || status === 409) return false;
    this.#object("delete", status, text);
    return true;
  }

  async #ask(
    request: Parameters<KubeApi["request"]>[0],
    signal: AbortSignal,
  ): Promise<{ status: number; text: string }> {
    const { status, body } = await this.#api.request(request, { signal });
    return { status, text: new TextDecoder().decode(body) };
  }

  #lease(verb: string, status: number, text: string): Lease {
    const lease = leaseOf(this.#object(verb, status, text));
    if (lease) return lease;
    throw new PosternError(
      "protocol",
      `Cannot read the answer of the cluster "${this.#api.name}": it is not a Lease`,
    );
  }

  #object(verb: string, status: number, text: string): unknown {
    const what = `${verb} leases in the namespace "${this.#namespace}"`;
    return kubeValue({ status, text, what, cluster: this.#api.name });
  }

  #path(name?: string): string {
    const all = `/apis/coordination.k8s.io/v1/namespaces/${encodeURIComponent(this.#namespace)}/leases`;
    return name === undefined ? all : `${all}/${encodeURIComponent(name)}`;
  }
}

/** Reads a Lease from an API object; undefined if the value is not a Lease. */
export function leaseOf(object: unknown): Lease | undefined {
  const meta = metaOf(object);
  if (!meta || !isMapping(object)) return undefined;
  const spec = asMapping(object["spec"]);
  const { holderIdentity: holder, leaseDurationSeconds: seconds, leaseTransitions: transitions } = spec;
  const labels = Object.entries(asMapping(asMapping(object["metadata"])["labels"]));
  return {
    name: meta.name,
    resourceVersion: meta.resourceVersion,
    holder: typeof holder === "string" ? holder : "",
    seconds: typeof seconds === "number" ? seconds : 0,
    acquired: dateIn(spec["acquireTime"]),
    renewed: dateIn(spec["renewTime"]),
    transitions: typeof transitions === "number" ? transitions : 0,
    labels: Object.fromEntries(labels.flatMap(([name, is]) => typeof is === "string" ? [[name, is]] : [])),
    object,
  };
}

/** Whether a Lease is valid at a time, judged by its own fields. */
export function isLeaseValid({ renewed, acquired, seconds }: LeaseFields, at: Date): boolean {
  const since = renewed ?? acquired;
  return since !== undefined && since.getTime() + seconds * 1000 > at.getTime();
}

function specOf({ holder, seconds, acquired, renewed, transitions }: LeaseFields): Mapping {
  return {
    holderIdentity: holder,
    leaseDurationSeconds: seconds,
    leaseTransitions: transitions,
    ...(acquired && { acquireTime: microTime(acquired) }),
    ...(renewed && { renewTime: microTime(renewed) }),
  };
}

/** The API's `MicroTime`, which needs exactly six decimal places. */
function microTime(date: Date): string {
  return date.toISOString().replace("Z", "000Z");
}

function dateIn(value: unknown): Date | undefined {
  const date = typeof value === "string" ? new Date(value) : undefined;
  return date && Number.isFinite(date.getTime()) ? date : undefined;
}

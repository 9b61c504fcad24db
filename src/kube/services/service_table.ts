import type { ServiceRecord, SliceRecord } from "../api/cluster_view.ts";

/** The Services and endpoints of a namespace or a cluster, with lookups for dials. */
export class ServiceTable {
  /** Keyed by namespace, then by name. */
  readonly #services = new Map<string, Map<string, ServiceRecord>>();
  /** Keyed by `namespace/service`, then by the slice's name. */
  readonly #slices = new Map<string, Map<string, SliceRecord>>();
  /** The Service of each slice, keyed by `namespace/slice`. */
  readonly #ownerOf = new Map<string, string>();
  readonly #byIp = new Map<string, ServiceRecord>();

  service(namespace: string, name: string): ServiceRecord | undefined {
    return this.#services.get(namespace)?.get(name);
  }

  *services(namespace?: string): Iterable<ServiceRecord> {
    const some = namespace === undefined ? this.#services.values() : [this.#services.get(namespace)];
    for (const services of some) if (services) yield* services.values();
  }

  /** Finds a Service by an address in canonical form. */
  byClusterIp(ip: string): ServiceRecord | undefined {
    return this.#byIp.get(ip);
  }

  endpoints(namespace: string, service: string): readonly SliceRecord[] {
    return [...this.#slices.get(`${namespace}/${service}`)?.values() ?? []];
  }

  putService(record: ServiceRecord): void {
    this.removeService(record.namespace, record.name);
    const { namespace, name } = record;
    let there = this.#services.get(namespace);
    if (!there) this.#services.set(namespace, there = new Map());
    there.set(name, record);
    for (const ip of record.clusterIps) this.#byIp.set(ip, record);
  }

  removeService(namespace: string, name: string): void {
    const there = this.#services.get(namespace);
    const record = there?.get(name);
    if (!there || !record) return;
    there.delete(name);
    if (there.size === 0) this.#services.delete(namespace);
    // Another Service may have this address by now.
    for (const ip of record.clusterIps) if (this.#byIp.get(ip) === record) this.#byIp.delete(ip);
  }

  /** `owner` is undefined for a slice that no longer belongs to a Service. */
  putSlice(
    namespace: string,
    name: string,
    owner: { service: string; slice: SliceRecord } | undefined,
  ): void {
    const key = `${namespace}/${name}`;
    const service = owner && `${namespace}/${owner.service}`;
    const former = this.#ownerOf.get(key);
    if (former !== undefined && former !== service) this.removeSlice(namespace, name);
    if (!owner || service === undefined) return;
    let there = this.#slices.get(service);
    if (!there) this.#slices.set(service, there = new Map());
    there.set(name, owner.slice);
    this.#ownerOf.set(key, service);
  }

  removeSlice(namespace: string, name: string): void {
    const key = `${namespace}/${name}`;
    const service = this.#ownerOf.get(key);
    if (service === undefined) return;
    this.#ownerOf.delete(key);
    const there = this.#slices.get(service);
    there?.delete(name);
    if (there?.size === 0) this.#slices.delete(service);
  }
}

import type {
  ClusterView,
  EndpointRecord,
  PodRecord,
  ServiceRecord,
  SliceRecord,
} from "../../src/kube/api/cluster_view.ts";
import { PosternError } from "../../src/words/mod.ts";

export interface FakeClusterParts {
  readonly services?: readonly ServiceRecord[];
  /** Slices by `namespace/service`. */
  readonly slices?: Readonly<Record<string, readonly SliceRecord[]>>;
  readonly pods?: readonly PodRecord[];
  /** The namespaces whose Services are readable (default: all). */
  readonly allowed?: readonly string[];
}

/** A cluster view with the test's objects. */
export class FakeClusterView implements ClusterView {
  parts: FakeClusterParts;
  /** The requested namespaces; `*` for all. */
  readonly asked: string[] = [];
  readonly #listeners = new Set<() => void>();
  readonly #held = new Set<string>();

  constructor(parts: FakeClusterParts = {}) {
    this.parts = parts;
  }

  ready(namespace: string | undefined): Promise<void> {
    this.asked.push(namespace ?? "*");
    const { allowed } = this.parts;
    if (allowed && (namespace === undefined || !allowed.includes(namespace))) {
      const where = namespace === undefined ? "everywhere" : `in the namespace "${namespace}"`;
      return Promise.reject(
        new PosternError("not_allowed", `Cannot list Services of fake: needs list and watch ${where}`),
      );
    }
    this.#held.add(namespace ?? "*");
    return Promise.resolve();
  }

  isReady(namespace: string | undefined): boolean {
    return this.#held.has("*") || (namespace !== undefined && this.#held.has(namespace));
  }

  service(namespace: string, name: string): ServiceRecord | undefined {
    return this.#services().find((one) => one.namespace === namespace && one.name === name);
  }

  byClusterIp(ip: string): ServiceRecord | undefined {
    return this.#services().find(({ clusterIps }) => clusterIps.includes(ip));
  }

  endpoints(namespace: string, service: string): readonly SliceRecord[] {
    return this.parts.slices?.[`${namespace}/${service}`] ?? [];
  }

  services(namespace?: string): Iterable<ServiceRecord> {
    return this.#services().filter((one) => namespace === undefined || one.namespace === namespace);
  }

  podByName(namespace: string, name: string): Promise<PodRecord | undefined> {
    return Promise.resolve(this.parts.pods?.find((one) => one.namespace === namespace && one.name === name));
  }

  podByIp(ip: string): Promise<readonly PodRecord[]> {
    return Promise.resolve(this.parts.pods?.filter(({ ips }) => ips.includes(ip)) ?? []);
  }

  forgetPods(): void {}

  check(): void {}

  onChange(changed: () => void): Disposable {
    this.#listeners.add(changed);
    return { [Symbol.dispose]: () => void this.#listeners.delete(changed) };
  }

  /** Changes objects like a watch. */
  change(parts: FakeClusterParts): void {
    this.parts = parts;
    for (const listener of this.#listeners) listener();
  }

  status(): { watches: [] } {
    return { watches: [] };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }

  #services(): ServiceRecord[] {
    return (this.parts.services ?? []).filter(({ namespace }) => this.isReady(namespace));
  }
}

/** Returns a Service (default: one port `80 (http)`). */
export function serviceRecord(
  of: Partial<ServiceRecord> & Pick<ServiceRecord, "namespace" | "name">,
): ServiceRecord {
  return {
    type: "ClusterIP",
    clusterIps: [],
    isHeadless: false,
    hasSelector: true,
    publishesNotReady: false,
    ports: [{ name: "http", protocol: "TCP", port: 80, targetPort: "http" }],
    ...of,
  };
}

/** Returns an IPv4 slice with endpoints by pod name; a leading `!` marks one as not ready. */
export function sliceRecord(
  pods: readonly string[],
  port: number | undefined,
  { name = "http", ...more }: Partial<SliceRecord> & { readonly name?: string } = {},
): SliceRecord {
  return {
    addressType: "IPv4",
    ports: [{ name, protocol: "TCP", ...(port !== undefined && { port }) }],
    endpoints: pods.map((pod): EndpointRecord => ({
      addresses: ["10.244.0.1"],
      isReady: !pod.startsWith("!"),
      isServing: !pod.startsWith("!"),
      isTerminating: false,
      pod: pod.replace("!", ""),
    })),
    ...more,
  };
}

/** Returns a running pod. */
export function podRecord(of: Partial<PodRecord> & Pick<PodRecord, "namespace" | "name">): PodRecord {
  return {
    phase: "Running",
    isReady: true,
    isTerminating: false,
    isHostNetwork: false,
    ips: [],
    ports: [],
    ...of,
  };
}

/**
 * What a dial needs to know of a cluster, held in memory by watches. Whatever is not asynchronous here answers from
 * memory at once, from what `ready` has waited for.
 */
export interface ClusterView extends AsyncDisposable {
  /**
   * Waits until all of a namespace, or of the cluster (undefined), is held. The first call begins the watches; once
   * held, it returns at once, also while a watch that broke is being resumed. Fails with the reason: `not_allowed`
   * names the right that is missing. What failed is tried again by the next call, no sooner than its pause allows.
   * Asking for many namespaces widens the watch to the whole cluster where the rights are there.
   */
  ready(namespace: string | undefined, options: { readonly signal: AbortSignal }): Promise<void>;
  /** Whether `ready` would return at once. */
  isReady(namespace: string | undefined): boolean;
  /** A Service of what is held. */
  service(namespace: string, name: string): ServiceRecord | undefined;
  /** The Service with this cluster address, of either family in any spelling, among what is held. */
  byClusterIp(ip: string): ServiceRecord | undefined;
  /** The slices of a Service: pod and port must be taken from the same one. */
  endpoints(namespace: string, service: string): readonly SliceRecord[];
  /** The Services that are held, of one namespace or of all, for tables, lists and completion. */
  services(namespace?: string): Iterable<ServiceRecord>;
  /** One pod, read from the server; the answer, also that there is none, is kept for 5 s unless `isFresh` is asked. */
  podByName(
    namespace: string,
    name: string,
    options: { readonly signal: AbortSignal; readonly isFresh?: boolean },
  ): Promise<PodRecord | undefined>;
  /**
   * The living pods with an address, kept like `podByName`. Where the right for the whole cluster is missing, those of
   * `namespaces` and of the held ones; when even that is not allowed, `not_allowed` names the right.
   */
  podByIp(
    ip: string,
    options: { readonly signal: AbortSignal; readonly namespaces?: readonly string[] },
  ): Promise<readonly PodRecord[]>;
  /** A dial met something else than what was held: forgets what is kept of pods. */
  forgetPods(): void;
  /** We have slept, or the network has changed: watches are resumed on new connections. */
  check(): void;
  /** Calls `changed` after events that changed Services or endpoints, gathered for a moment. */
  onChange(changed: () => void): Disposable;
  status(): ClusterViewStatus;
}

/** What is kept of a Service. */
export interface ServiceRecord {
  readonly namespace: string;
  readonly name: string;
  readonly type: "ClusterIP" | "NodePort" | "LoadBalancer" | "ExternalName";
  /** Normal forms; empty for a headless Service and an ExternalName. */
  readonly clusterIps: readonly string[];
  /** `clusterIP: None`. */
  readonly isHeadless: boolean;
  /** One without a selector has the endpoints that somebody wrote, and those may be no pods. */
  readonly hasSelector: boolean;
  readonly publishesNotReady: boolean;
  readonly externalName?: string | undefined;
  readonly ports: readonly ServicePortRecord[];
}

export interface ServicePortRecord {
  /** May be empty where there is one port only. */
  readonly name: string;
  readonly protocol: "TCP" | "UDP" | "SCTP";
  readonly port: number;
  /** A number, or the name of a container's port. */
  readonly targetPort: number | string;
}

/** What is kept of an EndpointSlice. */
export interface SliceRecord {
  readonly addressType: "IPv4" | "IPv6" | "FQDN";
  readonly ports: readonly SlicePortRecord[];
  readonly endpoints: readonly EndpointRecord[];
}

export interface SlicePortRecord {
  /** The name of the Service's port that it belongs to. */
  readonly name: string;
  readonly protocol: "TCP" | "UDP" | "SCTP";
  /** Absent means all ports. */
  readonly port?: number;
}

export interface EndpointRecord {
  /** All are the same endpoint; the first is meant. */
  readonly addresses: readonly string[];
  /** `ready` of its conditions; unknown counts as ready. */
  readonly isReady: boolean;
  readonly isServing: boolean;
  readonly isTerminating: boolean;
  /** The name of the pod behind it, in the Service's namespace. */
  readonly pod?: string | undefined;
  /** The first label of its own name below a headless Service. */
  readonly hostname?: string | undefined;
}

/** What is kept of a pod. */
export interface PodRecord {
  readonly namespace: string;
  readonly name: string;
  readonly phase: string;
  readonly isReady: boolean;
  readonly isTerminating: boolean;
  readonly isHostNetwork: boolean;
  readonly ips: readonly string[];
  readonly ports: readonly { readonly name: string; readonly protocol: string; readonly port: number }[];
}

/** What `status` and `doctor` show of the watches. */
export interface ClusterViewStatus {
  /** `*` is the whole cluster. */
  readonly watches: readonly WatchStatus[];
}

export interface WatchStatus {
  readonly namespace: string;
  /** The plural of its kind: `services`, `endpointslices`. */
  readonly resource: string;
  /** `resuming`: what is held may be out of date since `since`. */
  readonly state: "starting" | "watching" | "resuming" | "failing";
  /** In RFC 3339. */
  readonly since: string;
  readonly objects: number;
  readonly resourceVersion?: string;
  /** How often it was begun again from a list. */
  readonly relists: number;
  readonly lastError?: string;
}

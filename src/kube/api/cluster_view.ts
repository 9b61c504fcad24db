/**
 * The objects of a cluster that dials need, held in memory by watches. The synchronous methods answer from
 * memory; call `ready` first.
 */
export interface ClusterView extends AsyncDisposable {
  /**
   * Waits until postern holds all objects of a namespace, or of the cluster (undefined). The first call
   * starts the watches. Later calls return at once, even while a broken watch resumes. Fails with the reason:
   * `not_allowed` names the missing right. The next call retries a failure, but not before its pause has
   * passed. If callers ask for many namespaces and the rights allow it, the watch widens to the whole
   * cluster.
   */
  ready(namespace: string | undefined, options: { readonly signal: AbortSignal }): Promise<void>;
  /** Whether `ready` would return at once. */
  isReady(namespace: string | undefined): boolean;
  /** A Service among the objects in memory. */
  service(namespace: string, name: string): ServiceRecord | undefined;
  /** The Service in memory with this cluster IP, of either family and in any spelling. */
  byClusterIp(ip: string): ServiceRecord | undefined;
  /** The EndpointSlices of a Service. Take pod and port from the same slice. */
  endpoints(namespace: string, service: string): readonly SliceRecord[];
  /** The Services in memory, of one namespace or of all, for tables, lists and completion. */
  services(namespace?: string): Iterable<ServiceRecord>;
  /**
   * Reads one pod from the API server. The answer, including "not found", is kept for 5 s unless `isFresh` is
   * set.
   */
  podByName(
    namespace: string,
    name: string,
    options: { readonly signal: AbortSignal; readonly isFresh?: boolean },
  ): Promise<PodRecord | undefined>;
  /**
   * Reads the running pods with an address; answers are kept as for `podByName`. Without the right to list pods in the
   * whole cluster, it reads those of `namespaces` and of the watched namespaces. If even that is forbidden,
   * `not_allowed` names the right.
   */
  podByIp(
    ip: string,
    options: { readonly signal: AbortSignal; readonly namespaces?: readonly string[] },
  ): Promise<readonly PodRecord[]>;
  /** Drops the pods in memory, because a dial found something different. */
  forgetPods(): void;
  /** Resumes the watches on new connections, after the machine slept or the network changed. */
  check(): void;
  /** Calls `changed` after Services or endpoints changed; events that arrive together cause one call. */
  onChange(changed: () => void): Disposable;
  status(): ClusterViewStatus;
}

/** The fields of a Service that postern keeps. */
export interface ServiceRecord {
  readonly namespace: string;
  readonly name: string;
  readonly type: "ClusterIP" | "NodePort" | "LoadBalancer" | "ExternalName";
  /** Addresses in canonical form; empty for a headless Service and an ExternalName. */
  readonly clusterIps: readonly string[];
  /** `clusterIP: None`. */
  readonly isHeadless: boolean;
  /** A Service without a selector has endpoints that an operator wrote; they need not be pods. */
  readonly hasSelector: boolean;
  readonly publishesNotReady: boolean;
  readonly externalName?: string | undefined;
  readonly ports: readonly ServicePortRecord[];
}

export interface ServicePortRecord {
  /** May be empty if the Service has only one port. */
  readonly name: string;
  readonly protocol: "TCP" | "UDP" | "SCTP";
  readonly port: number;
  /** A number, or the name of a container's port. */
  readonly targetPort: number | string;
}

/** The fields of an EndpointSlice that postern keeps. */
export interface SliceRecord {
  readonly addressType: "IPv4" | "IPv6" | "FQDN";
  readonly ports: readonly SlicePortRecord[];
  readonly endpoints: readonly EndpointRecord[];
}

export interface SlicePortRecord {
  /** The name of the matching port of the Service. */
  readonly name: string;
  readonly protocol: "TCP" | "UDP" | "SCTP";
  /** Absent means all ports. */
  readonly port?: number;
}

export interface EndpointRecord {
  /** Equivalent addresses of one endpoint; use the first. */
  readonly addresses: readonly string[];
  /** The condition `ready`; a missing condition counts as ready. */
  readonly isReady: boolean;
  readonly isServing: boolean;
  readonly isTerminating: boolean;
  /** The pod of this endpoint, in the Service's namespace. */
  readonly pod?: string | undefined;
  /** The first label of the endpoint's name below a headless Service. */
  readonly hostname?: string | undefined;
}

/** The fields of a pod that postern keeps. */
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

/** The state of the watches, for `status` and `doctor`. */
export interface ClusterViewStatus {
  /** `*` means the whole cluster. */
  readonly watches: readonly WatchStatus[];
}

export interface WatchStatus {
  readonly namespace: string;
  /** The plural of the kind: `services`, `endpointslices`. */
  readonly resource: string;
  /** `resuming`: the objects may be out of date since `since`. */
  readonly state: "starting" | "watching" | "resuming" | "failing";
  /** An RFC 3339 time. */
  readonly since: string;
  readonly objects: number;
  readonly resourceVersion?: string;
  /** How many times the watch restarted with a list. */
  readonly relists: number;
  readonly lastError?: string;
}

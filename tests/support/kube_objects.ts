/** An API object in its written form. */
export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly [field: string]: unknown;
}

export interface TestPod {
  readonly name: string;
  /** The namespace (default: `default`). */
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** The servers for its ports: `{ 80: "127.0.0.1:8081" }`. Other ports refuse connections. */
  readonly targets?: Readonly<Record<number, string>>;
  /** The container's declared ports by name (default: those of `targets`, without names). */
  readonly ports?: Readonly<Record<string, number>>;
  readonly ready?: boolean;
  /** The pod's addresses (default: assigned by the node). */
  readonly addresses?: readonly string[];
  readonly hostNetwork?: boolean;
  readonly hostname?: string;
  readonly subdomain?: string;
}

/** Returns a pod that runs immediately on the test node. */
export function pod(
  { name, namespace = "default", labels = {}, targets = {}, ...more }: TestPod,
): KubeObject {
  const { ready = true, addresses = [], hostNetwork, hostname, subdomain } = more;
  const ports = more.ports
    ? Object.entries(more.ports).map(([name, containerPort]) => ({ name, containerPort }))
    : Object.keys(targets).map((port) => ({ containerPort: Number(port) }));
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace,
      labels,
      annotations: {
        "postern.test/targets": Object.entries(targets).map(([port, to]) => `${port}=${to}`).join(","),
        "postern.test/ready": String(ready),
        ...(addresses.length > 0 && { "postern.test/addresses": addresses.join(",") }),
      },
    },
    spec: {
      nodeName: "node",
      automountServiceAccountToken: false,
      containers: [{ name: "main", image: "none", ports }],
      ...(hostNetwork && { hostNetwork }),
      ...(hostname && { hostname }),
      ...(subdomain && { subdomain }),
    },
  };
}

export interface TestServicePort {
  readonly name?: string;
  readonly port: number;
  readonly targetPort?: number | string;
  readonly protocol?: "TCP" | "UDP" | "SCTP";
}

export interface TestService {
  readonly name: string;
  /** The namespace (default: `default`). */
  readonly namespace?: string;
  /** Selects the pods; without it the test writes the slices. */
  readonly selector?: Readonly<Record<string, string>>;
  readonly ports?: readonly TestServicePort[];
  /** The cluster IPs; `None` makes the Service headless. */
  readonly clusterIps?: readonly string[];
  readonly externalName?: string;
  readonly publishNotReadyAddresses?: boolean;
  /** Requests addresses of both families. */
  readonly isDualStack?: boolean;
}

/** Returns a Service. */
export function service({ name, namespace = "default", ...more }: TestService): KubeObject {
  const { selector, ports = [], clusterIps = [], externalName, publishNotReadyAddresses, isDualStack } = more;
  const [clusterIP] = clusterIps;
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, namespace },
    spec: {
      ...(selector && { selector }),
      ports: ports.map((port) => ({ protocol: "TCP", ...port })),
      ...(clusterIP !== undefined && { clusterIP, clusterIPs: clusterIps }),
      ...(externalName !== undefined && { type: "ExternalName", externalName }),
      ...(publishNotReadyAddresses && { publishNotReadyAddresses }),
      ...(isDualStack && { ipFamilyPolicy: "RequireDualStack", ipFamilies: ["IPv4", "IPv6"] }),
    },
  };
}

/** Returns the path of an object: `/api/v1/namespaces/default/pods/web`. */
export function pathOf({ apiVersion, kind, metadata: { name, namespace } }: KubeObject): string {
  return `${listPath(apiVersion, kind, namespace)}/${name}`;
}

/** Returns the path of all objects of a kind. */
export function listPath(apiVersion: string, kind: string, namespace?: string): string {
  const root = apiVersion === "v1" ? "/api/v1" : `/apis/${apiVersion}`;
  const plural = kind.endsWith("s")
    ? `${kind}es`
    : kind.endsWith("y")
    ? `${kind.slice(0, -1)}ies`
    : `${kind}s`;
  return `${root}${namespace === undefined ? "" : `/namespaces/${namespace}`}/${plural.toLowerCase()}`;
}

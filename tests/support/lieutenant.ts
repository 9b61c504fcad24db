import { HttpClient } from "../../src/http/mod.ts";
import { createNetwork } from "../../src/runtime/network/network.ts";
import { systemClock } from "../../src/runtime/system_clock.ts";
import type { KubeCluster } from "./kube_cluster.ts";
import { freePort, PeerServer } from "./peer_program.ts";
import { testTls } from "./tls_files.ts";

/** A cluster in the form of Lieutenant's operator. */
export interface SynCluster {
  readonly id: string;
  readonly tenant: string;
  readonly displayName: string;
  readonly facts?: Readonly<Record<string, string>>;
  /** The facts reported by the cluster: each value as JSON, or any text. */
  readonly dynamicFacts?: Readonly<Record<string, string>>;
  /** Makes Lieutenant return an `installURL` with this token. */
  readonly bootstrapToken?: string;
}

export interface LieutenantOptions {
  readonly kubernetes: string;
  readonly lieutenant: string;
  /** The initial clusters, or a function of the Kubernetes API's address. */
  readonly clusters: readonly SynCluster[] | ((kubernetes: string) => readonly SynCluster[]);
  /** An additional provider of valid tokens: the user is `oidc:` and the claim `email`. */
  readonly oidc?: { readonly issuer: string; readonly clientId: string; readonly discoveryUrl: string };
}

const namespace = "lieutenant";

/**
 * The real Lieutenant API with a real Kubernetes API and etcd, all on loopback. The definitions of clusters
 * and tenants have only the fields that the API uses. `alice` and `oidc:alice@example.com` may list clusters,
 * namespaces, nodes and pods; `mallory` and `oidc:mallory@example.com` have no rights.
 */
export class Lieutenant implements AsyncDisposable {
  static readonly tokens = { alice: "token-of-alice", mallory: "token-of-mallory" };
  readonly #started: AsyncDisposableStack;
  readonly #servers: { readonly api: PeerServer; readonly lieutenant: PeerServer };

  private constructor(
    started: AsyncDisposableStack,
    servers: { readonly api: PeerServer; readonly lieutenant: PeerServer },
  ) {
    this.#started = started;
    this.#servers = servers;
  }

  static async start({ kubernetes, lieutenant, clusters, oidc }: LieutenantOptions): Promise<Lieutenant> {
    await using started = new AsyncDisposableStack();
    const directory = await Deno.makeTempDir({ prefix: "lieutenant-" });
    started.defer(() => Deno.remove(directory, { recursive: true }));
    const file = async (name: string, content: string) => {
      await Deno.writeTextFile(`${directory}/${name}`, content);
      return `${directory}/${name}`;
    };
    const [ca, cert, key] = await Promise.all([
      file("ca.crt", testTls.ca),
      file("tls.crt", testTls.server.cert),
      file("tls.key", testTls.server.key),
    ]);
    const { alice, mallory } = Lieutenant.tokens;
    const tokens = await file(
      "tokens.csv",
      `${adminToken},admin,1,"system:masters"\n${alice},alice,2\n${mallory},mallory,3\n`,
    );
    const etcd = await startEtcd(kubernetes, directory);
    started.use(etcd);
    const api = await PeerServer.start(kubernetes, (port) => [
      ...[
        "--etcd-servers",
        `http://${etcd.address}`,
        "--bind-address",
        "127.0.0.1",
        "--secure-port",
        String(port),
      ],
      ...["--advertise-address", "127.0.0.1", "--endpoint-reconciler-type", "none"],
      ...["--tls-cert-file", cert, "--tls-private-key-file", key, "--cert-dir", directory],
      ...["--service-account-key-file", cert, "--service-account-signing-key-file", key],
      ...[
        "--service-account-issuer",
        "https://kubernetes.default.svc",
        "--service-cluster-ip-range",
        "10.96.0.0/16",
      ],
      ...["--authorization-mode", "RBAC", "--disable-admission-plugins", "ServiceAccount"],
      ...["--token-auth-file", tokens, "--profiling=false"],
      ...oidc
        ? [
          ...["--oidc-issuer-url", oidc.issuer, "--oidc-client-id", oidc.clientId, "--oidc-ca-file", ca],
          ...["--oidc-username-claim", "email", "--oidc-username-prefix", "oidc:"],
        ]
        : [],
    ], { patience: 60_000 });
    started.use(api);
    const first = typeof clusters === "function" ? clusters(api.address) : clusters;
    await fill(new KubernetesApi(api.address), first);
    const kubeconfig = await file("kubeconfig", kubeconfigFor(api.address, ca));
    const server = await startProgram(lieutenant, {
      ...{ kubeconfig, cert, key },
      env: { ...(oidc && { OIDC_CLIENT_ID: oidc.clientId, OIDC_DISCOVERY_URL: oidc.discoveryUrl }) },
    });
    started.use(server);
    return new Lieutenant(started.move(), { api, lieutenant: server });
  }

  get url(): URL {
    return new URL(`https://${this.#servers.lieutenant.address}`);
  }

  /** The address of its Kubernetes API: `127.0.0.1:6443`. */
  get kubernetes(): string {
    return this.#servers.api.address;
  }

  /** Adds a cluster. */
  async add(cluster: SynCluster): Promise<void> {
    await addCluster(new KubernetesApi(this.kubernetes), cluster);
  }

  /** Stops only Lieutenant, not its Kubernetes API. */
  async stop(): Promise<void> {
    await this.#servers.lieutenant[Symbol.asyncDispose]();
  }

  /** Stops its Kubernetes API. */
  async stopKubernetes(): Promise<void> {
    await this.#servers.api[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#started.disposeAsync();
  }
}

/**
 * Creates Lieutenant's objects in an existing cluster and returns a function that starts Lieutenant there,
 * always on the same port. The administrator's token is valid there.
 */
export async function lieutenantIn(
  cluster: KubeCluster,
  { lieutenant, clusters }: Pick<LieutenantOptions, "lieutenant"> & { clusters: readonly SynCluster[] },
): Promise<() => Promise<PeerServer>> {
  await fill(new KubernetesApi(cluster.address, await Deno.readTextFile(cluster.ca)), clusters);
  const kubeconfig = await cluster.writeKubeconfig({ name: "lieutenant.kubeconfig", namespace, user: {} });
  const [cert, key] = [`${cluster.directory}/lieutenant.crt`, `${cluster.directory}/lieutenant.key`];
  await Deno.writeTextFile(cert, testTls.server.cert);
  await Deno.writeTextFile(key, testTls.server.key);
  const port = freePort();
  return () => startProgram(lieutenant, { kubeconfig, cert, key, port });
}

async function startProgram(
  path: string,
  { kubeconfig, cert, key, port, env = {} }: {
    readonly kubeconfig: string;
    readonly cert: string;
    readonly key: string;
    readonly port?: number;
    readonly env?: Readonly<Record<string, string>>;
  },
): Promise<PeerServer> {
  return await PeerServer.start(path, (port) => [`127.0.0.1:${port}`], {
    env: {
      KUBECONFIG: kubeconfig,
      NAMESPACE: namespace,
      API_VERSION: "v0.12.2",
      TLS_CERT: cert,
      TLS_KEY: key,
      ...env,
    },
    ...(port !== undefined && { port }),
  });
}

const adminToken = "token-of-admin";

async function startEtcd(kubernetes: string, directory: string): Promise<PeerServer> {
  // This cluster has no other users, so any port works.
  return await PeerServer.start(kubernetes, (port) => [
    "etcd",
    ...["--data-dir", `${directory}/etcd`, "--unsafe-no-fsync", "--log-level", "error"],
    ...[
      "--listen-client-urls",
      `http://127.0.0.1:${port}`,
      "--advertise-client-urls",
      `http://127.0.0.1:${port}`,
    ],
    ...["--listen-peer-urls", "http://127.0.0.1:0"],
  ]);
}

function kubeconfigFor(address: string, ca: string): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "lab", cluster: { server: `https://${address}`, "certificate-authority": ca } }],
    users: [{ name: "anonymous", user: {} }],
    contexts: [{ name: "lab", context: { cluster: "lab", user: "anonymous", namespace } }],
    "current-context": "lab",
  });
}

async function fill(api: KubernetesApi, clusters: readonly SynCluster[]): Promise<void> {
  await api.untilReady();
  for (const kind of ["Cluster", "Tenant"]) {
    await api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition(kind));
  }
  await api.create("/api/v1/namespaces", { metadata: { name: namespace } });
  await allowReading(api);
  await api.untilServed(clustersPath);
  for (const cluster of clusters) await addCluster(api, cluster);
}

/** Grants alice the rights to read Lieutenant's objects, namespaces, nodes and pods. */
async function allowReading(api: KubernetesApi): Promise<void> {
  const subjects = ["alice", "oidc:alice@example.com"].map((name) => ({ kind: "User", name }));
  const apiGroup = "rbac.authorization.k8s.io";
  const allowed = [
    {
      within: `namespaces/${namespace}/`,
      kind: "Role",
      apiGroups: ["syn.tools"],
      resources: ["clusters", "tenants"],
    },
    { within: "", kind: "ClusterRole", apiGroups: [""], resources: ["namespaces", "nodes", "pods"] },
  ];
  for (const { within, kind, apiGroups, resources } of allowed) {
    const path = `/apis/${apiGroup}/v1/${within}${kind.toLowerCase()}`;
    const metadata = { name: "lieutenant-reader" };
    await api.create(`${path}s`, {
      metadata,
      rules: [{ apiGroups, resources, verbs: ["get", "list", "watch"] }],
    });
    await api.create(`${path}bindings`, {
      metadata,
      subjects,
      roleRef: { apiGroup, kind, name: metadata.name },
    });
  }
}

const clustersPath = `/apis/syn.tools/v1alpha1/namespaces/${namespace}/clusters`;

async function addCluster(
  api: KubernetesApi,
  { id, tenant, displayName, facts, dynamicFacts, bootstrapToken }: SynCluster,
): Promise<void> {
  const metadata = { name: id, namespace, labels: { "syn.tools/tenant": tenant } };
  const gitRepoURL = `ssh://git@git.example.net/${tenant}/${id}.git`;
  const object = { apiVersion: "syn.tools/v1alpha1", kind: "Cluster", metadata };
  await api.create(clustersPath, {
    ...object,
    spec: { displayName, tenantRef: { name: tenant }, gitRepoURL, ...(facts && { facts }) },
  });
  const validUntil = new Date(Date.now() + 3_600_000).toISOString().replace(/\.\d+/, "");
  await api.patchStatus(`${clustersPath}/${id}`, {
    ...(dynamicFacts && { facts: dynamicFacts }),
    ...(bootstrapToken && { bootstrapToken: { token: bootstrapToken, tokenValid: true, validUntil } }),
  });
}

/** Returns the used parts of the real definition. */
function definition(kind: string): unknown {
  const plural = `${kind.toLowerCase()}s`;
  const anything = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  const part = {
    ...anything,
    properties: { facts: { type: "object", additionalProperties: { type: "string" } } },
  };
  return {
    metadata: { name: `${plural}.syn.tools` },
    spec: {
      group: "syn.tools",
      names: { kind, listKind: `${kind}List`, plural, singular: kind.toLowerCase() },
      scope: "Namespaced",
      versions: [{
        name: "v1alpha1",
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: { openAPIV3Schema: { type: "object", properties: { spec: part, status: part } } },
      }],
    },
  };
}

/** The Kubernetes API as its administrator. */
class KubernetesApi {
  readonly #address: string;
  readonly #client: HttpClient;

  constructor(address: string, ca: string = testTls.ca) {
    this.#address = address;
    this.#client = new HttpClient({ clock: systemClock, network: createNetwork() }, { ca });
  }

  async untilReady(): Promise<void> {
    await this.#until("ready", () => this.#status("GET", "/readyz"));
  }

  async untilServed(path: string): Promise<void> {
    await this.#until(path, () => this.#status("GET", path));
  }

  async create(path: string, object: unknown): Promise<void> {
    await this.#until(path, () => this.#status("POST", path, object));
  }

  async patchStatus(path: string, status: unknown): Promise<void> {
    await this.#until(path, () => this.#status("PATCH", `${path}/status`, { status }));
  }

  /** Retries while a new server is incomplete; permanent errors fail. */
  async #until(what: string, ask: () => Promise<number>): Promise<void> {
    const end = performance.now() + 120_000;
    for (let status = 0; status < 200 || status > 299;) {
      status = await ask();
      if (performance.now() > end) throw new Error(`never: ${what}, at last ${status}`);
      if (status < 200 || status > 299) await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  async #status(method: string, path: string, body?: unknown): Promise<number> {
    const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    const { status } = await this.#client.ask({
      url: new URL(`https://${this.#address}${path}`),
      method,
      fields: [["Authorization", `Bearer ${adminToken}`], ["Content-Type", type]],
      ...(body !== undefined && { body: JSON.stringify(body) }),
    }, { signal: new AbortController().signal });
    // An earlier attempt with a lost answer created it.
    return status === 409 ? 200 : status;
  }
}

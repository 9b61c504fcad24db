import { type KubeObject, listPath, pathOf } from "./kube_objects.ts";
import { eventuallyInCluster, makeCertificates, startServer } from "./kube_processes.ts";
import type { PeerServer } from "./peer_program.ts";

export interface KubeClusterOptions {
  /**
   * Whether the node forwards half-closes (`none`), or ends the other direction after a second like
   * containerd.
   */
  readonly linger?: "containerd" | "none";
  /** The networks of Services: one, or one for each family. */
  readonly serviceNetworks?: string;
  /** Additional options of the API server. */
  readonly apiOptions?: readonly string[];
}

/** The users with permanent tokens. */
export type KubeUser = "admin" | "alice" | "bob" | "carol";

/** The node's counters of port-forwards. */
export interface ForwardCounts {
  /** Total and current port-forward requests. */
  readonly sessions: number;
  readonly openSessions: number;
  /** Streams that reached their target. */
  readonly streams: number;
  readonly openStreams: number;
  /** Streams of each pod, by `NAMESPACE/NAME`. */
  readonly pods: Readonly<Record<string, number>>;
}

/**
 * A real cluster on loopback: etcd, API server, controller manager and a node whose pods are local servers.
 * `admin` has all rights; roles define the rights of other users. The addresses of pods and Services are
 * unreachable: clients can connect only through the API server.
 */
export class KubeCluster implements AsyncDisposable {
  readonly directory: string;
  readonly #kubernetes: string;
  readonly #started: AsyncDisposableStack;
  readonly #client: Deno.HttpClient;
  /** The HTTP client for the node, with a client certificate that the API server would also accept. */
  readonly #nodeClient: Deno.HttpClient;
  readonly #options: KubeClusterOptions;
  readonly #etcd: PeerServer;
  #api: PeerServer;
  #kubelet: PeerServer | undefined;

  private constructor(
    kubernetes: string,
    options: KubeClusterOptions,
    parts: { directory: string; started: AsyncDisposableStack; etcd: PeerServer; api: PeerServer },
  ) {
    this.#kubernetes = kubernetes;
    this.#options = options;
    this.directory = parts.directory;
    this.#started = parts.started;
    this.#etcd = parts.etcd;
    this.#api = parts.api;
    const read = (name: string) => Deno.readTextFileSync(`${this.directory}/${name}`);
    const trusted = { caCerts: [read("ca.crt")] };
    this.#client = Deno.createHttpClient(trusted);
    this.#nodeClient = Deno.createHttpClient({
      ...trusted,
      cert: read("apiserver.crt"),
      key: read("apiserver.key"),
    });
  }

  static async start(kubernetes: string, options: KubeClusterOptions = {}): Promise<KubeCluster> {
    await using started = new AsyncDisposableStack();
    const directory = await Deno.makeTempDir({ prefix: "cluster-" });
    started.defer(() => Deno.remove(directory, { recursive: true }));
    const hosts = ["127.0.0.1", "localhost"];
    await Promise.all([
      makeCertificates(kubernetes, directory, [
        { name: "apiserver", commonName: "kube-apiserver", hosts },
        { name: "kubelet", commonName: "system:node:node", organization: ["system:nodes"], hosts },
        { name: "controllers", commonName: "system:kube-controller-manager" },
      ]),
      Deno.writeTextFile(`${directory}/tokens.csv`, tokensFile()),
    ]);
    const etcd = await startEtcd(kubernetes, directory);
    started.use(etcd);
    const api = await startApi(kubernetes, { directory, etcd, options });
    const cluster = new KubeCluster(kubernetes, options, { directory, started: started.move(), etcd, api });
    try {
      await cluster.#begin();
      return cluster;
    } catch (error) {
      await cluster[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** `127.0.0.1:21234`. */
  get address(): string {
    return this.#api.address;
  }

  /** The file of the authority of its certificates. */
  get ca(): string {
    return `${this.directory}/ca.crt`;
  }

  token(user: KubeUser): string {
    return `token-of-${user}`;
  }

  /** Whether the API server still accepts a token. */
  async knows(token: string): Promise<boolean> {
    const answer = await fetch(`https://${this.address}/api`, {
      headers: { authorization: `Bearer ${token}` },
      client: this.#client,
    });
    await answer.body?.cancel();
    return answer.status !== 401;
  }

  /** Requests a token of a service account from the API server. */
  async serviceAccountToken(namespace: string, name: string, seconds = 3600): Promise<string> {
    const path = `${listPath("v1", "ServiceAccount", namespace)}/${name}/token`;
    const made = await this.json("POST", path, { spec: { expirationSeconds: seconds } });
    return (made as { status: { token: string } }).status.token;
  }

  /** Returns a kubeconfig with one context (default name: `lab`). */
  kubeconfig({ context = "lab", namespace, token = this.token("admin"), user = { token }, cluster = {} }: {
    readonly context?: string;
    readonly namespace?: string;
    readonly token?: string;
    readonly user?: Readonly<Record<string, unknown>>;
    readonly cluster?: Readonly<Record<string, unknown>>;
  } = {}): string {
    return JSON.stringify({
      apiVersion: "v1",
      kind: "Config",
      clusters: [{
        name: context,
        cluster: { server: `https://${this.address}`, "certificate-authority": this.ca, ...cluster },
      }],
      users: [{ name: context, user }],
      contexts: [{
        name: context,
        context: { cluster: context, user: context, ...(namespace && { namespace }) },
      }],
      "current-context": context,
    });
  }

  /** Writes such a kubeconfig and returns its path. */
  async writeKubeconfig(
    options: Parameters<KubeCluster["kubeconfig"]>[0] & { readonly name?: string } = {},
  ): Promise<string> {
    const path = `${this.directory}/${options.name ?? "kubeconfig"}`;
    await Deno.writeTextFile(path, this.kubeconfig(options), { mode: 0o600 });
    return path;
  }

  /** Sends a request as the administrator and returns the answer with any status. */
  async ask(method: string, path: string, body?: unknown, type = "application/json"): Promise<Response> {
    return await fetch(`https://${this.address}${path}`, {
      method,
      headers: { authorization: `Bearer ${this.token("admin")}`, "content-type": type },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      client: this.#client,
    });
  }

  async json(method: string, path: string, body?: unknown, type?: string): Promise<unknown> {
    const answer = await this.ask(method, path, body, type);
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text.slice(0, 2000)}`);
    return JSON.parse(text);
  }

  /** Creates or updates objects. */
  async apply(...objects: readonly KubeObject[]): Promise<void> {
    await Promise.all(
      objects.map((object) =>
        this.json(
          "PATCH",
          `${pathOf(object)}?fieldManager=tests&force=true`,
          object,
          "application/apply-patch+yaml",
        )
      ),
    );
  }

  /** Removes an object immediately; ignores a missing one. */
  async remove(object: KubeObject): Promise<void> {
    const answer = await this.ask("DELETE", pathOf(object), { gracePeriodSeconds: 0 });
    await answer.body?.cancel();
    if (!answer.ok && answer.status !== 404) throw new Error(`DELETE ${pathOf(object)}: ${answer.status}`);
  }

  /** Creates a namespace that accepts pods. */
  async namespace(name: string): Promise<void> {
    await this.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
    await this.#hasAccount(name);
  }

  /**
   * Grants rules to a user or a service account (`namespace:name`), in a namespace or (undefined) everywhere.
   */
  async allow(
    who: string,
    namespace: string | undefined,
    rules: readonly {
      apiGroups: readonly string[];
      resources: readonly string[];
      verbs: readonly string[];
    }[],
  ): Promise<void> {
    const [first = "", account] = who.split(":");
    const name = `${first}-${account ?? "user"}`;
    const [role, binding] = namespace === undefined
      ? ["ClusterRole", "ClusterRoleBinding"]
      : ["Role", "RoleBinding"];
    const apiVersion = "rbac.authorization.k8s.io/v1";
    const metadata = { name, ...(namespace !== undefined && { namespace }) };
    await this.apply({ apiVersion, kind: role, metadata, rules });
    await this.apply({
      apiVersion,
      kind: binding,
      metadata,
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: role, name },
      subjects: [
        account === undefined
          ? { apiGroup: "rbac.authorization.k8s.io", kind: "User", name: first }
          : { kind: "ServiceAccount", namespace: first, name: account },
      ],
    });
  }

  /** Counts the ready endpoints of a Service. */
  async readyEndpoints(namespace: string, service: string): Promise<number> {
    const path = listPath("discovery.k8s.io/v1", "EndpointSlice", namespace);
    const { items } = await this.json(
      "GET",
      `${path}?labelSelector=kubernetes.io/service-name=${service}`,
    ) as {
      items: readonly { endpoints?: readonly { conditions?: { ready?: boolean } }[] }[];
    };
    return items.flatMap(({ endpoints }) => endpoints ?? []).filter(({ conditions }) =>
      conditions?.ready !== false
    )
      .length;
  }

  /** Waits until a Service has `count` ready endpoints. */
  async untilReady(namespace: string, service: string, count = 1): Promise<void> {
    await eventuallyInCluster(
      `${count} endpoints of ${namespace}/${service} are ready`,
      async () => await this.readyEndpoints(namespace, service) === count,
    );
  }

  /** Reads the number of answered requests from the API server's metric, selected by labels. */
  async requests(labels: Readonly<Record<string, string>>): Promise<number> {
    const answer = await this.ask("GET", "/metrics");
    let count = 0;
    for (const line of (await answer.text()).split("\n")) {
      const [, of, value] = /^apiserver_request_total\{(.*)\} (\S+)$/.exec(line) ?? [];
      if (of === undefined || !Object.entries(labels).every(([name, is]) => of.includes(`${name}="${is}"`))) {
        continue;
      }
      count += Number(value);
    }
    return count;
  }

  /** Reads the node's counters. */
  async forwards(): Promise<ForwardCounts> {
    if (!this.#kubelet) throw new Error("the node is not there");
    const answer = await fetch(`https://${this.#kubelet.address}/counts`, { client: this.#nodeClient });
    return await answer.json();
  }

  /** Stops the API server and breaks its connections. */
  async stopApi(): Promise<void> {
    await this.#api[Symbol.asyncDispose]();
  }

  /** Restarts the API server at the same address. */
  async startApi(): Promise<void> {
    this.#api = await startApi(this.#kubernetes, {
      directory: this.directory,
      etcd: this.#etcd,
      options: this.#options,
      port: this.#api.port,
    });
    await this.#isReady();
  }

  /** Suspends (`SIGSTOP`) or resumes (`SIGCONT`) the API server. */
  signalApi(signal: "SIGSTOP" | "SIGCONT"): void {
    this.#api.kill(signal);
  }

  /** Suspends or resumes the node: its connections stay open but carry no data. */
  signalNode(signal: "SIGSTOP" | "SIGCONT"): void {
    if (!this.#kubelet) throw new Error("the node is not there");
    this.#kubelet.kill(signal);
  }

  async #begin(): Promise<void> {
    await this.#isReady();
    const kubeconfig = await this.writeKubeconfig({ name: "admin.kubeconfig" });
    const files = (name: string) => [`${this.directory}/${name}.crt`, `${this.directory}/${name}.key`];
    const [certificate, key] = files("controllers");
    const controllers = await this.writeKubeconfig({
      name: "controllers.kubeconfig",
      user: { "client-certificate": certificate, "client-key": key },
    });
    [this.#kubelet] = await Promise.all([
      startKubelet(this.#kubernetes, { directory: this.directory, kubeconfig, linger: this.#options.linger }),
      startControllers(this.#kubernetes, { directory: this.directory, kubeconfig: controllers }).then((
        server,
      ) => this.#started.use(server)),
    ]);
    this.#started.use(this.#kubelet);
    await this.#hasAccount("default");
  }

  async #isReady(): Promise<void> {
    await eventuallyInCluster("the API server is ready", async () => {
      const answer = await this.ask("GET", "/readyz").catch((error) => {
        if (error instanceof TypeError) return undefined;
        throw error;
      });
      await answer?.body?.cancel();
      return answer?.ok ?? false;
    });
  }

  async #hasAccount(namespace: string): Promise<void> {
    await eventuallyInCluster(`the namespace ${namespace} accepts pods`, async () => {
      const answer = await this.ask("GET", `${listPath("v1", "ServiceAccount", namespace)}/default`);
      await answer.body?.cancel();
      return answer.ok;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#client.close();
    this.#nodeClient.close();
    await this.#api[Symbol.asyncDispose]();
    await this.#started.disposeAsync();
  }
}

function tokensFile(): string {
  const users: readonly KubeUser[] = ["alice", "bob", "carol"];
  return [
    'token-of-admin,admin,1,"system:masters"',
    ...users.map((name, at) => `token-of-${name},${name},${at + 2}`),
  ].join("\n") + "\n";
}

async function startEtcd(kubernetes: string, directory: string): Promise<PeerServer> {
  return await startServer(kubernetes, (port) => [
    "etcd",
    `--data-dir=${directory}/etcd`,
    "--unsafe-no-fsync",
    "--log-level=error",
    `--listen-client-urls=http://127.0.0.1:${port}`,
    `--advertise-client-urls=http://127.0.0.1:${port}`,
    "--listen-peer-urls=http://127.0.0.1:0",
  ]);
}

async function startApi(kubernetes: string, { directory, etcd, options, port }: {
  readonly directory: string;
  readonly etcd: PeerServer;
  readonly options: KubeClusterOptions;
  readonly port?: number;
}): Promise<PeerServer> {
  const { serviceNetworks = "10.96.0.0/16", apiOptions = [] } = options;
  return await startServer(kubernetes, (port) => [
    `--etcd-servers=http://${etcd.address}`,
    "--bind-address=127.0.0.1",
    `--secure-port=${port}`,
    "--advertise-address=127.0.0.1",
    "--endpoint-reconciler-type=none",
    `--tls-cert-file=${directory}/apiserver.crt`,
    `--tls-private-key-file=${directory}/apiserver.key`,
    `--cert-dir=${directory}`,
    `--client-ca-file=${directory}/ca.crt`,
    `--service-account-key-file=${directory}/apiserver.crt`,
    `--service-account-signing-key-file=${directory}/apiserver.key`,
    "--service-account-issuer=https://kubernetes.default.svc",
    `--service-cluster-ip-range=${serviceNetworks}`,
    "--authorization-mode=RBAC",
    `--token-auth-file=${directory}/tokens.csv`,
    `--kubelet-client-certificate=${directory}/apiserver.crt`,
    `--kubelet-client-key=${directory}/apiserver.key`,
    `--kubelet-certificate-authority=${directory}/ca.crt`,
    "--kubelet-preferred-address-types=InternalIP",
    "--profiling=false",
    ...apiOptions,
  ], port === undefined ? {} : { port });
}

async function startKubelet(kubernetes: string, { directory, kubeconfig, linger = "containerd" }: {
  readonly directory: string;
  readonly kubeconfig: string;
  readonly linger: KubeClusterOptions["linger"];
}): Promise<PeerServer> {
  return await startServer(kubernetes, (port) => [
    "kubelet",
    `--kubeconfig=${kubeconfig}`,
    `--listen=127.0.0.1:${port}`,
    `--tls-cert-file=${directory}/kubelet.crt`,
    `--tls-private-key-file=${directory}/kubelet.key`,
    `--client-ca-file=${directory}/ca.crt`,
    `--linger=${linger === "none" ? "0" : "1s"}`,
  ]);
}

/** The controllers for Services, namespaces and service accounts. */
const controllerNames = [
  "endpointslice-controller",
  "serviceaccount-controller",
  "serviceaccount-token-controller",
  "namespace-controller",
  "root-ca-certificate-publisher-controller",
  "deployment-controller",
  "replicaset-controller",
  "statefulset-controller",
  "garbage-collector-controller",
];

async function startControllers(kubernetes: string, { directory, kubeconfig }: {
  readonly directory: string;
  readonly kubeconfig: string;
}): Promise<PeerServer> {
  return await startServer(kubernetes, (port) => [
    "controllers",
    `--kubeconfig=${kubeconfig}`,
    `--authentication-kubeconfig=${kubeconfig}`,
    `--authorization-kubeconfig=${kubeconfig}`,
    "--bind-address=127.0.0.1",
    `--secure-port=${port}`,
    `--cert-dir=${directory}`,
    "--leader-elect=false",
    "--use-service-account-credentials",
    `--service-account-private-key-file=${directory}/apiserver.key`,
    `--root-ca-file=${directory}/ca.crt`,
    `--controllers=${controllerNames.join(",")}`,
  ]);
}

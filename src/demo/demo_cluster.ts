import { type Conn, Deadlines, type Log, type Messages, Tasks } from "../core/mod.ts";
import { describe, formatTarget, PosternError, type Target } from "../words/mod.ts";
import type { Listening, World } from "../world/mod.ts";
import { handshakeDeadline, type Serve, serveListener } from "../listeners/mod.ts";
import { acceptFor as webSocketAccept } from "../kube/mod.ts";
import {
  decodeRequestHead,
  encodeChunk,
  encodeResponseHead,
  loadSpdy,
  type RequestHead,
} from "../wire/mod.ts";
import { DemoForwards } from "./demo_forwards.ts";

/** The API server of the demo's cluster. Only the jump host resolves its name to it. */
const api: Target = { host: "localhost", port: 6443 };
/** The demo's kubeconfig, in memory. */
export const kubeconfigPath = "/demo/kube/config";
/** The only Service of the cluster, with its pod. */
export const webName = "web.shop.svc.cluster.local";
export const webPod = "web-7d4b9c";
export const webPodPort = 8080;

export interface DemoClusterOptions {
  readonly log: Log;
  /** Connects to the server in the pod. */
  readonly connectPod: (options: { signal: AbortSignal }) => Promise<Conn>;
}

/**
 * A simulated cluster: an API server with one Service, one EndpointSlice and port-forwards to one pod. It
 * listens on a loopback port without TLS, requires a token, and answers only the requests that postern sends.
 */
export class DemoCluster implements AsyncDisposable {
  /** The files of a user's `~/.kube`. */
  readonly kubeFiles: Readonly<Record<string, string>>;
  /** The number of port-forward connections so far. */
  connections = 0;
  readonly #world: World;
  readonly #options: DemoClusterOptions;
  readonly #token = crypto.randomUUID();
  readonly #deadlines: Deadlines;
  readonly #tasks: Tasks;
  readonly #listening: Listening;

  constructor(world: World, options: DemoClusterOptions) {
    const { log } = options;
    this.#world = world;
    this.#options = options;
    this.#tasks = new Tasks(undefined, (error) => log.error("demo.failed", { reason: describe(error) }));
    this.#deadlines = new Deadlines(world.clock);
    this.#listening = world.network.listen({ host: "127.0.0.1", port: 0 });
    this.kubeFiles = { [kubeconfigPath]: kubeconfig(this.#token) };
    const deps = {
      dial: () => Promise.reject(new Error("the demo cluster is not a proxy")),
      clock: world.clock,
      log,
      deadlines: this.#deadlines,
      limits: { connections: 16, handshake: 10_000, halfCloseLinger: 5000 },
    };
    this.#tasks.spawn((signal) => serveListener(this.#listening, this.#serve, deps, { signal }));
  }

  /** The address of the API server inside the demo network. */
  get address(): string {
    return formatTarget(api);
  }

  /** Connects to the API server. */
  connect({ signal }: { readonly signal: AbortSignal }): Promise<Conn> {
    const { endpoint } = this.#listening;
    return this.#world.network.connect(endpoint, { signal });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listening.close();
    await this.#tasks[Symbol.asyncDispose]();
    this.#deadlines[Symbol.dispose]();
  }

  readonly #serve: Serve = async (client, messages, deps, { signal, ...options }) => {
    await using _client = client;
    using deadline = handshakeDeadline(client, deps, options);
    try {
      for (
        let head = await messages.read(decodeRequestHead);
        head;
        head = await messages.read(decodeRequestHead)
      ) {
        deadline[Symbol.dispose]();
        if (!await this.#answer(head, { client, messages, signal })) return;
      }
    } catch (error) {
      // A client that leaves is not a failure of the demo.
      deps.log.debug("demo.cluster", { reason: describe(error) });
    }
  };

  /** Answers a request; returns whether the connection accepts another. */
  async #answer(
    { method, target, fields }: RequestHead,
    { client, messages, signal }: {
      readonly client: Conn;
      readonly messages: Messages;
      readonly signal: AbortSignal;
    },
  ): Promise<boolean> {
    const { pathname, searchParams } = new URL(target, "http://api");
    const isWatch = searchParams.get("sendInitialEvents") === "true";
    if (method !== "GET") return await refuse(client, 405, "MethodNotAllowed");
    if (fields.get("authorization") !== `Bearer ${this.#token}`) {
      return await refuse(client, 401, "Unauthorized");
    }
    if (pathname === "/version") return await answer(client, 200, { gitVersion: "v1.30.0-demo" });
    const object = objects[pathname];
    if (object !== undefined && isWatch) return await watch(client, messages, object);
    const protocol = fields.get("sec-websocket-protocol") ?? "";
    if (pathname !== forwardPath || protocol !== forwardProtocol) {
      return await refuse(client, 404, "NotFound");
    }
    const accept = await webSocketAccept(fields.get("sec-websocket-key") ?? "");
    await client.write(encodeResponseHead({
      status: 101,
      fields: [
        ["Connection", "Upgrade"],
        ["Upgrade", "websocket"],
        ["Sec-WebSocket-Accept", accept],
        ["Sec-WebSocket-Protocol", protocol],
      ],
    }));
    this.connections++;
    const { SpdySession } = await loadSpdy();
    const spdy = new SpdySession("server");
    await new DemoForwards(messages.goOn(), { signal, spdy, connect: this.#connectPod }).serve();
    return false;
  }

  readonly #connectPod = (port: number, options: { signal: AbortSignal }): Promise<Conn> => {
    if (port === webPodPort) return this.#options.connectPod(options);
    return Promise.reject(
      new PosternError(
        "refused",
        `failed to connect to localhost:${port} inside namespace: connection refused`,
      ),
    );
  };
}

/** Answers a watch with all objects. Nothing changes, so it then waits for the client to close. */
async function watch(client: Conn, messages: Messages, object: unknown): Promise<false> {
  const end = { resourceVersion: "2", annotations: { "k8s.io/initial-events-end": "true" } };
  const events = [{ type: "ADDED", object }, { type: "BOOKMARK", object: { metadata: end } }];
  const lines = events.map((event) => `${JSON.stringify(event)}\n`).join("");
  const fields = [["Content-Type", "application/json"], ["Transfer-Encoding", "chunked"]] as const;
  await client.write(encodeResponseHead({ status: 200, fields }));
  await client.write(encodeChunk(new TextEncoder().encode(lines)));
  await messages.fill();
  return false;
}

async function answer(client: Conn, status: number, body: unknown): Promise<true> {
  const bytes = new TextEncoder().encode(JSON.stringify(body));
  const fields = [["Content-Type", "application/json"], ["Content-Length", String(bytes.length)]] as const;
  await client.write(encodeResponseHead({ status, fields }));
  await client.write(bytes);
  return true;
}

function refuse(client: Conn, code: number, reason: string): Promise<true> {
  return answer(client, code, { kind: "Status", status: "Failure", message: reason, reason, code });
}

function kubeconfig(token: string): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": "demo",
    clusters: [{ name: "demo", cluster: { server: `http://${formatTarget(api)}` } }],
    users: [{ name: "you", user: { token } }],
    contexts: [{ name: "demo", context: { cluster: "demo", user: "you", namespace: "shop" } }],
  });
}

const forwardPath = `/api/v1/namespaces/shop/pods/${webPod}/portforward`;
const forwardProtocol = "SPDY/3.1+portforward.k8s.io";

/** All objects of the cluster, by watch path. */
const objects: Readonly<Record<string, unknown>> = {
  "/api/v1/namespaces/shop/services": {
    metadata: { namespace: "shop", name: "web", resourceVersion: "1" },
    spec: {
      type: "ClusterIP",
      clusterIP: "10.96.0.10",
      clusterIPs: ["10.96.0.10"],
      selector: { app: "web" },
      ports: [{ port: 80, targetPort: webPodPort, protocol: "TCP" }],
    },
  },
  "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices": {
    metadata: {
      namespace: "shop",
      name: "web-1",
      resourceVersion: "2",
      labels: { "kubernetes.io/service-name": "web" },
    },
    addressType: "IPv4",
    ports: [{ port: webPodPort, protocol: "TCP" }],
    endpoints: [{
      addresses: ["10.244.0.10"],
      conditions: { ready: true, serving: true, terminating: false },
      targetRef: { kind: "Pod", name: webPod, namespace: "shop" },
    }],
  },
};

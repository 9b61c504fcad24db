import { loopbackServices, ServiceAddress } from "./cluster_addresses.ts";
import { KonnectivityLab, konnectivityPeers, untilReady } from "./konnectivity_lab.ts";
import { OurAgent, OurServer } from "./konnectivity_programs.ts";
import { KubeCluster } from "./kube_cluster.ts";
import { service } from "./kube_objects.ts";
import { MountedSecret } from "./mounted_secret.ts";
import { eventually, PeerServer } from "./peer_program.ts";
import type { PeerPaths } from "./peers.ts";
import { Household, type Instance } from "./postern_process.ts";

/** The peers for a guest cluster and its Konnectivity. */
export const hypershiftPeers = [
  ...konnectivityPeers,
  "kubernetes",
  "grpctalk",
  "curl",
  "sh",
  "dnsmasq",
] as const;
type Paths = PeerPaths<typeof hypershiftPeers[number]>;

/** The implementation of server and agent. */
export type Whose = "Go" | "postern";

/** The guest cluster's DNS records for names outside its API. */
const records = ["db.internal", "idp.example", "pods.shop.svc.cluster.local"].map((name) =>
  `--host-record=${name},127.96.8.8`
);

/**
 * A guest cluster of HyperShift: a real API server with the only knowledge of its Services, an agent on this
 * machine that reaches their addresses, and certificates mounted as for a sidecar.
 */
export class HypershiftLab implements AsyncDisposable {
  readonly paths: Paths;
  readonly cluster: KubeCluster;
  readonly certificates: KonnectivityLab;
  readonly home: Household;
  readonly ca: MountedSecret;
  readonly client: MountedSecret;
  readonly #held: AsyncDisposableStack;

  private constructor(
    paths: Paths,
    parts: {
      cluster: KubeCluster;
      certificates: KonnectivityLab;
      home: Household;
      held: AsyncDisposableStack;
    },
  ) {
    this.paths = paths;
    this.cluster = parts.cluster;
    this.certificates = parts.certificates;
    this.home = parts.home;
    this.#held = parts.held;
    const mounts = `${this.home.directory}/etc/konnectivity`;
    this.ca = new MountedSecret(`${mounts}/proxy-ca`, paths.sh);
    this.client = new MountedSecret(`${mounts}/proxy-client`, paths.sh);
  }

  static async open(paths: Paths): Promise<HypershiftLab> {
    await using held = new AsyncDisposableStack();
    const cluster = held.use(
      await KubeCluster.start(paths.kubernetes, { serviceNetworks: loopbackServices }),
    );
    const certificates = held.use(await KonnectivityLab.create(paths));
    const home = held.use(await Household.open());
    const lab = new HypershiftLab(paths, { cluster, certificates, home, held: held.move() });
    await lab.ca.put({ "ca.crt": certificates.ca("frontend") });
    const { cert, key } = certificates.pair("frontend", "client");
    await lab.client.put({ "tls.crt": cert, "tls.key": key });
    return lab;
  }

  /** Creates a Service of the guest cluster with its own address and a local server. */
  async service(name: string, namespace: string, { ip, port, to }: {
    readonly ip: string;
    readonly port: number;
    readonly to: number;
  }): Promise<ServiceAddress> {
    await this.cluster.apply(service({ name, namespace, clusterIps: [ip], ports: [{ port }] }));
    return this.#held.use(new ServiceAddress({ hostname: ip, port }, to));
  }

  /** Starts a gRPC server on loopback. */
  async talk(): Promise<PeerServer> {
    return this.#held.use(await PeerServer.start(this.paths.grpctalk, (port) => ["serve", String(port)]));
  }

  /** Starts the guest cluster's DNS at the address of OpenShift's DNS Service. */
  async dns(): Promise<ServiceAddress> {
    const server = this.#held.use(
      await PeerServer.start(this.paths.dnsmasq, (port) => [
        "--keep-in-foreground",
        "--conf-file=/dev/null",
        "--no-resolv",
        "--no-hosts",
        "--local-ttl=60",
        "--local=/internal/example/local/",
        "--pid-file=",
        "--user=",
        "--group=",
        "--bind-interfaces",
        "--listen-address=127.0.0.1",
        `--port=${port}`,
        ...records,
      ]),
    );
    await this.cluster.namespace("openshift-dns");
    return await this.service("dns-default", "openshift-dns", {
      ip: "127.96.0.10",
      port: 53,
      to: server.port,
    });
  }

  /** Starts a server and its agent; returns the port of the frontend. */
  async front(whose: Whose, mode: "grpc" | "http-connect" = "http-connect"): Promise<number> {
    const frontend = { mode, isSocket: false };
    if (whose === "Go") {
      const server = await this.certificates.goServer(frontend);
      await this.certificates.goAgent(server);
      await untilReady(server.health);
      return portOf(server.front);
    }
    const server = this.#held.use(new OurServer(this.certificates, frontend));
    this.#held.use(new OurAgent(this.certificates, server));
    await eventually("an agent has joined", () => server.known.isReady);
    return portOf(server.front);
  }

  /** Starts one of HyperShift's proxies with its own command line. */
  async sidecar(
    kind: "socks5" | "https",
    front: number,
    { more = [], env = {} }: { more?: readonly string[]; env?: Readonly<Record<string, string>> } = {},
  ): Promise<Instance> {
    const instance = this.home.start([
      ...["konnectivity", kind, "run", "--konnectivity-hostname=127.0.0.1", `--konnectivity-port=${front}`],
      ...[`--ca-cert-path=${this.ca.path("ca.crt")}`, "--serving-port=0"],
      ...[`--tls-cert-path=${this.client.path("tls.crt")}`, `--tls-key-path=${this.client.path("tls.key")}`],
      ...more,
    ], { env: { KUBECONFIG: await this.cluster.writeKubeconfig(), ...env } });
    await Promise.race([
      instance.ready,
      instance.ended.then(({ stderr }) => {
        throw new Error(`it ended: ${stderr}`);
      }),
    ]);
    return instance;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#held.disposeAsync();
  }
}

function portOf(front: OurServer["front"]): number {
  if ("port" in front) return front.port;
  throw new Error("the frontend is a socket, not a port");
}

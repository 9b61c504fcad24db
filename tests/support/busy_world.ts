import { formatTarget } from "../../src/words/mod.ts";
import { DemoCluster, kubeconfigPath } from "../../src/demo/demo_cluster.ts";
import { createWorld } from "../../src/runtime/mod.ts";
import { farSide } from "./far_side.ts";
import { pacedServer } from "./paced_server.ts";
import { freePort } from "./peer_program.ts";
import type { PeerPaths } from "./peers.ts";
import type { Household, Instance } from "./postern_process.ts";
import { type RawClient, throughSocks5 } from "./raw_client.ts";
import { recordingLog } from "./recording_log.ts";
import { openSshHousehold, sshHostLines } from "./ssh_household.ts";
import { SshLab, type sshPeers } from "./sshd.ts";

/** An instance with several kinds of transports, and clients that use them. */
export interface BusyWorld extends AsyncDisposable {
  readonly home: Household;
  readonly instance: Instance;
  readonly address: string;
  /** Connects through the instance and keeps the connection until the end. */
  connect(host: string, port: number): Promise<void>;
}

/** Names that only the company's proxy resolves. */
const companyNames = ["db.example.net:5432", "grafana.example.net:443", "registry.example.net:5000"];
/** Names that only a shop's proxy resolves, reached through two jump hosts. */
const shopNames = ["orders.shop.example:443", "redis.shop.example:6379"];

/**
 * A typical working day: a company's proxy, a chain of two jump hosts to another proxy and to the API server
 * of a cluster, and a transport that fails.
 */
export async function openBusyWorld(paths: PeerPaths<typeof sshPeers[number]>): Promise<BusyWorld> {
  await using opened = new AsyncDisposableStack();
  const lab = opened.use(await SshLab.create(paths));
  const [jump, inner] = [await lab.start("jump"), await lab.start("inner")];
  const [slow, quick] = [opened.use(pacedServer(2_000)), opened.use(pacedServer(90_000))];
  const company = opened.use(
    farSide(
      Object.fromEntries(companyNames.map((name, at) => [name, at === 0 ? slow.address : quick.address])),
    ),
  );
  const shop = opened.use(farSide(Object.fromEntries(shopNames.map((name) => [name, slow.address]))));
  const { cluster, kubeconfig } = openCluster(quick.port);
  opened.use(cluster);
  await Deno.writeTextFile(`${lab.directory}/kubeconfig`, kubeconfig);
  const home = opened.use(
    await openSshHousehold(lab, {
      ssh: [...sshHostLines("jump1", jump), ...sshHostLines("inner", inner, "ProxyJump jump1")],
      postern: [
        "transports:",
        `  company: { proxy: { url: "socks5h://${company.address}" } }`,
        "  office: { ssh: inner }",
        `  shop: { proxy: { url: "socks5h://${shop.address}" }, via: office }`,
        `  lab: { kubernetes: { kubeconfig: "${lab.directory}/kubeconfig" }, via: office }`,
        `  partner: { proxy: { url: "http://127.0.0.1:${freePort()}" } }`,
        "routes:",
        "  - { to: example.net, via: company }",
        "  - { to: shop.example, via: shop }",
        "  - { to: [.svc, .cluster.local], via: lab }",
        "  - { to: partner.example, via: partner }",
        "direct: [public.example.net]",
      ],
    }),
  );
  const instance = await home.instance();
  const address = await instance.address();
  const reading = new Set<Promise<void>>();
  opened.defer(async () => void await Promise.all(reading));
  const clients = opened.use(new DisposableStack());
  const connect = async (host: string, port: number) => {
    reading.add(download(clients.use(await throughSocks5(address, { host, port }))));
  };
  const moved = opened.move();
  return { home, instance, address, connect, [Symbol.asyncDispose]: () => moved.disposeAsync() };
}

/** Opens the connections of a typical user. */
export async function fill({ connect }: BusyWorld): Promise<void> {
  for (const name of [...companyNames, ...shopNames]) await connectTo(connect, name);
  await connect("web.shop.svc.cluster.local", 80);
  await connectTo(connect, "grafana.example.net:443");
  await connect("partner.example", 443).catch(() => {});
}

async function connectTo(connect: BusyWorld["connect"], name: string): Promise<void> {
  const [host = "", port] = name.split(":");
  await connect(host, Number(port));
}

/** Reads all data and sends a little, like a client that downloads. */
async function download(client: RawClient): Promise<void> {
  try {
    for (let bytes = await client.some(); bytes; bytes = await client.some()) {
      await client.send(new Uint8Array(Math.ceil(bytes.length / 8)));
    }
  } catch {
    // The test has ended.
  }
}

/** A cluster with one Service, and a kubeconfig for it. */
function openCluster(port: number): { readonly cluster: DemoCluster; readonly kubeconfig: string } {
  const world = createWorld({ main: import.meta.url, flags: [] });
  let listens = "";
  const network = {
    ...world.network,
    listen: (endpoint: Parameters<typeof world.network.listen>[0]) => {
      const listening = world.network.listen(endpoint);
      if ("port" in listening.endpoint) listens = formatTarget(listening.endpoint);
      return listening;
    },
  };
  const cluster = new DemoCluster({
    ...world,
    network,
    get places() {
      return world.places;
    },
  }, {
    log: recordingLog(),
    connectPod: ({ signal }) => world.network.connect({ host: "127.0.0.1", port }, { signal }),
  });
  const text = cluster.kubeFiles[kubeconfigPath] ?? "";
  return { cluster, kubeconfig: text.replaceAll(cluster.address, listens).replaceAll('"demo"', '"lab"') };
}

import assert from "node:assert/strict";
import { setImmediate as nextTurn } from "node:timers/promises";
import { type Conn, Deadlines, type Dial, Tasks, type Transport } from "../../src/core/mod.ts";
import { PosternError, type Target } from "../../src/words/mod.ts";
import type { Listening, Network, World } from "../../src/world/mod.ts";
import type { KubernetesSettings } from "../../src/kube/mod.ts";
import type { ForwardForm } from "../../src/kube/forward/forward_forms.ts";
import { KonnectivityAgent } from "../../src/konnectivity/server/agent.ts";
import { serveAgent } from "../../src/konnectivity/server/agent_port.ts";
import { Agents } from "../../src/konnectivity/server/agents.ts";
import { serveConnectFront } from "../../src/konnectivity/server/connect_front.ts";
import { serveGrpcFront } from "../../src/konnectivity/server/grpc_front.ts";
import type { KonnectivityMode } from "../../src/konnectivity/client/konnectivity_settings.ts";
import { wayToServer } from "../../src/roles/konnectivity/way_to_server.ts";
import { SshServices } from "../../src/ssh/mod.ts";
import { buildTransports, Direct, type TransportsSettings } from "../../src/transports/mod.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { type FakeAnswer, FakeKubeApi, type FakeRequest, FakeWatch } from "../support/fake_kube_api.ts";
import { ForwardStandIn } from "../support/forward_stand_in.ts";
import { idleSshServices } from "../support/idle_ssh_services.ts";
import { bookmark, event, listed, service } from "../support/kube_answers.ts";
import { kubeconfigOf } from "../support/kube_world.ts";
import { memoryPair } from "../support/memory_conn.ts";
import { MemoryFiles } from "../support/memory_files.ts";
import { MemoryWorld } from "../support/memory_world.ts";
import { MemoryNetwork } from "../support/memory_network.ts";
import { noPrograms } from "../support/no_programs.ts";
import { ProxyServer, type ProxyServerOptions } from "../support/proxy_server.ts";
import { recordingLog } from "../support/recording_log.ts";
import { sshHost } from "../support/ssh_host.ts";
import { memoryCipher, MemorySshServer } from "../support/ssh_server.ts";
import {
  isNeverClosed,
  keepsNothing,
  sharesSessions,
  sum,
  type TransportSetting,
  type TransportTried,
  without,
  withoutHalfClose,
} from "./transport_contract.ts";

/** Every kind of transport, in memory. `tests/unit/scripts/contracts_test.ts` fails for one that is missing here. */
export const transportsTried: readonly TransportTried[] = [
  direct(),
  ...proxies(),
  ...clusterProxies(),
  reject(),
  ssh(),
  ...kubernetes(),
  ...konnectivity(),
];

/** A network with targets, and a transport `it` in it. */
class Surroundings {
  readonly network = new MemoryNetwork();
  readonly clock = new FakeClock();
  readonly log = recordingLog();
  readonly files: MemoryFiles;
  readonly #closing: (() => Promise<void>)[] = [];

  constructor(files: Readonly<Record<string, string>> = {}) {
    const { network } = this;
    this.files = new MemoryFiles(files);
    network.tls = (conn) => Promise.resolve(conn);
    network.names.set("web.example", ["192.0.2.7"]);
    network.names.set("silent.example", ["192.0.2.8"]);
    network.names.set("closed.example", ["192.0.2.9"]);
    network.faults.set("192.0.2.8", "silent");
  }

  /** Lets time pass until the end, a little each turn of the event loop. */
  tick(): void {
    let isOver = false;
    const ticking = (async () => {
      while (!isOver) {
        await nextTurn();
        await this.clock.advance(2);
      }
    })();
    this.after(async () => {
      isOver = true;
      await ticking;
    });
  }

  /** Done at the end, before all that was said so far. */
  before(close: () => Promise<void>): void {
    this.#closing.unshift(close);
  }

  /** Done at the end, after all that was said so far. */
  after(close: () => Promise<void>): void {
    this.#closing.push(close);
  }

  async close(): Promise<void> {
    for (const close of this.#closing) await close();
  }

  /** Serves each client of an address. */
  serve(endpoint: Target, serve: (conn: Conn, signal: AbortSignal) => Promise<void>): Listening {
    const listening = this.network.listen(endpoint);
    const tasks = new Tasks(undefined, (error) => assert.fail(`${error}`));
    tasks.spawn(async () => {
      for (let conn = await listening.accept(); conn; conn = await listening.accept()) {
        const client = conn;
        tasks.spawn(async (signal) => {
          signal.addEventListener("abort", () => client.abort(signal.reason), { once: true });
          await serve(client, signal).catch(() => {});
        });
      }
    });
    this.after(async () => {
      listening.close();
      await tasks[Symbol.asyncDispose]();
    });
    return listening;
  }

  /** What stands between does with names: it looks them up on its side. */
  get farSide(): Network {
    const { network } = this;
    return {
      listen: (endpoint) => network.listen(endpoint),
      inherit: (descriptor) => network.inherit(descriptor),
      datagrams: (endpoint) => network.datagrams(endpoint),
      lookup: (name, options) => network.lookup(name, options),
      addresses: () => network.addresses(),
      secure: (conn, options) => network.secure(conn, options),
      secureAsServer: (conn, options) => network.secureAsServer(conn, options),
      connect: async (endpoint, options) => {
        if ("path" in endpoint || /^[0-9]/.test(endpoint.host)) {
          return await network.connect(endpoint, options);
        }
        const [host = ""] = await network.lookup(endpoint.host, options);
        return await network.connect({ host, port: endpoint.port }, options);
      },
    };
  }

  /** The setting of a transport of the configuration. */
  build(
    settings: TransportsSettings,
    more: Partial<TransportSetting> & { ssh?: SshServices } = {},
  ): TransportSetting {
    const { network, clock, log, files } = this;
    const parts = { network, clock, log, files };
    const ssh = more.ssh ?? idleSshServices(parts);
    const { byName } = buildTransports(settings, {
      ...parts,
      process: noPrograms,
      ssh,
      noProxy: () => () => false,
    });
    this.before(async () => {
      for (const { transport } of byName.values()) await transport[Symbol.asyncDispose]();
      await ssh[Symbol.asyncDispose]();
    });
    const { transport } = byName.get("it") ?? byName.get("direct") ?? assert.fail("no transport");
    return this.around(transport, more);
  }

  /** The setting of a transport that is made already. */
  around(transport: Transport, more: Partial<TransportSetting> = {}): TransportSetting {
    const { network } = this;
    const target = network.listen({ host: "192.0.2.7", port: 7 });
    const before = network.connects.length;
    this.before(async () => await transport[Symbol.asyncDispose]());
    this.before(() => Promise.resolve(target.close()));
    return {
      transport,
      targets: {
        address: { host: "192.0.2.7", port: 7 },
        name: { host: "web.example", port: 7 },
        refusing: { host: "closed.example", port: 1 },
        unknown: { host: "nowhere.example", port: 1 },
        silent: { host: "silent.example", port: 1 },
      },
      accept: async () => await target.accept() ?? assert.fail("closed"),
      touched: () => network.connects.length - before + network.lookups.length,
      open: () => network.open,
      dialing: async () => {
        while (!network.connects.includes("192.0.2.8:1")) await nextTurn();
      },
      cut: () => assert.fail("nothing is on its way"),
      close: () => this.close(),
      ...more,
    };
  }
}

function direct(): TransportTried {
  const own = "it has no way of its own";
  return {
    name: "direct",
    kind: "direct",
    of: "Direct",
    codes: { refused: "refused", unknown: "name_not_found" },
    open: () => Promise.resolve(new Surroundings().build({})),
    cannot: {
      ...isNeverClosed,
      "says that it cannot be reached itself, which is no answer of the target": own,
    },
  };
}

function reject(): TransportTried {
  const refuses = "it refuses every target";
  return {
    name: "reject",
    kind: "reject",
    of: "Reject",
    codes: { refused: "not_allowed", unknown: "not_allowed" },
    open: () =>
      Promise.resolve(
        new Surroundings().build({ it: { kind: "reject", settings: "Not from this machine" } }, {
          dialing: () => Promise.resolve(),
        }),
      ),
    cannot: without([
      "carries bytes both ways to an address",
      "carries bytes both ways to a name",
      "hands on what a target says before it is spoken to",
      "keeps a half-close: the target answers after it",
      "keeps a half-close of the target, which still hears",
      "carries many connections at once and apart",
      "makes a writer wait while the target does not read",
      "passes a reset of the target on",
      "passes an abort on to the target",
      "says at the dial that a target refuses",
      "says at the dial that a name is unknown",
      "says that it cannot be reached itself, which is no answer of the target",
      "leaves nothing open when the signal ends while it dials",
      "dials nothing for a signal that has ended",
      "lets a connection live when the signal of its dial ends after it",
      "drops its connections when it is disposed",
      "dials no more once it is disposed",
    ], refuses),
  };
}

/** A transport through proxies, with the first proxy server at `192.0.2.100` and the next at `192.0.2.101`. */
export function proxySetting(
  settings: TransportsSettings,
  servers: readonly ProxyServerOptions[],
): TransportSetting {
  const all = new Surroundings({ "/password": "secret\n" });
  return all.build(settings, { cut: proxyServers(all, servers) });
}

export function upstream(at: number, scheme: string, more: object = {}): TransportsSettings[string] {
  return { kind: "proxy", settings: { scheme, host: `192.0.2.10${at}`, port: 3128, ...more } };
}

/** Makes the proxy servers that settings name, the first one at `192.0.2.100`. */
function proxyServers(all: Surroundings, servers: readonly ProxyServerOptions[]): () => void {
  const proxies = servers.map((options, at) =>
    new ProxyServer(all.farSide, { host: `192.0.2.10${at}`, port: 3128 }, options)
  );
  all.after(async () => {
    for (const proxy of proxies) await proxy[Symbol.asyncDispose]();
  });
  return () => all.network.faults.set("192.0.2.100", refusing());
}

const refusing = () => new PosternError("refused", "Cannot reach it: connection refused");

function proxies(): readonly TransportTried[] {
  const signedIn = { user: "me", passwordFile: "/password" };
  const credentials = { user: "me", password: "secret" };
  const http = { refused: "unreachable", unknown: "unreachable" } as const;
  const socks5 = { refused: "refused", unknown: "unreachable" } as const;
  const tried = (
    name: string,
    codes: TransportTried["codes"],
    settings: TransportsSettings,
    servers: readonly ProxyServerOptions[],
  ): TransportTried => ({
    name: `proxy (${name})`,
    kind: "proxy",
    of: "Proxy",
    codes,
    open: () => Promise.resolve(proxySetting(settings, servers)),
    cannot: isNeverClosed,
  });
  return [
    tried("http", http, { it: upstream(0, "http") }, [{ protocol: "http" }]),
    tried("http, signed in", http, { it: upstream(0, "http", signedIn) }, [{
      protocol: "http",
      credentials,
    }]),
    tried("https", http, { it: upstream(0, "https") }, [{ protocol: "http" }]),
    tried("socks5", socks5, { it: upstream(0, "socks5") }, [{ protocol: "socks5" }]),
    tried("socks5, signed in", socks5, { it: upstream(0, "socks5", signedIn) }, [{
      protocol: "socks5",
      credentials,
    }]),
    tried("socks5, via http", socks5, {
      it: { ...upstream(0, "socks5"), via: "outer" },
      outer: upstream(1, "http"),
    }, [{ protocol: "socks5" }, { protocol: "http" }]),
    tried("http, via socks5", http, {
      it: { ...upstream(0, "http"), via: "outer" },
      outer: upstream(1, "socks5"),
    }, [{ protocol: "http" }, { protocol: "socks5" }]),
  ];
}

/** An API server on `192.0.2.50`, and the transport `lab` that leads into its cluster. */
function cluster(
  answer: (request: FakeRequest) => FakeAnswer | Promise<FakeAnswer>,
): { all: Surroundings; lab: TransportsSettings[string]; api: FakeKubeApi; listening: Listening } {
  const all = new Surroundings({ "/config": kubeconfigOf({ server: "http://192.0.2.50" }) });
  all.tick();
  const api = new FakeKubeApi(answer);
  const listening = all.network.listen({ host: "192.0.2.50", port: 80 });
  const serving = api.listen(listening);
  all.after(async () => {
    listening.close();
    await serving;
    await api[Symbol.asyncDispose]();
  });
  const settings: KubernetesSettings = {
    kubeconfigs: ["/config"],
    clusterDomain: "cluster.local",
    halfClose: "pass",
    externalName: "refuse",
  };
  return { all, lab: { kind: "kubernetes", settings }, api, listening };
}

function clusterProxies(): readonly TransportTried[] {
  const tried = (name: string, accepted: string | undefined): TransportTried => ({
    name: `proxy of a cluster (${name})`,
    kind: "proxy",
    of: "ClusterProxy",
    codes: accepted === undefined
      ? { refused: "refused", unknown: "name_not_found" }
      : { refused: "unreachable", unknown: "unreachable" },
    open: () => {
      const { all, lab, ...around } = proxyCluster(accepted);
      return Promise.resolve(
        all.build({ it: { kind: "proxy", settings: { cluster: "lab" } }, lab }, around),
      );
    },
    cannot: keepsNothing,
  });
  return [
    tried("by its proxy", "http://192.0.2.100:3128"),
    tried("that has none", undefined),
    {
      ...tried("by its proxy", "http://192.0.2.100:3128"),
      name: "the way of an agent to its server",
      of: "Object",
      madeBy: ["src/roles/konnectivity/way_to_server.ts"],
      open: async () => {
        const { all, lab: _, ...around } = proxyCluster("http://192.0.2.100:3128");
        const { network, clock, files } = all;
        const world: World = { ...new MemoryWorld(), network, clock, files };
        return all.around(await wayToServer({ kubeconfig: "/config" }, world), around);
      },
    },
  ];
}

/** A cluster that has accepted a proxy, or none. */
function proxyCluster(
  httpsProxy: string | undefined,
): Pick<ReturnType<typeof cluster>, "all" | "lab"> & Pick<TransportSetting, "cut" | "open"> {
  const status = httpsProxy === undefined ? {} : { httpsProxy };
  const object = { metadata: { name: "cluster", resourceVersion: "5" }, status };
  const { all, lab, listening } = cluster(({ path }) =>
    path.endsWith("/proxies")
      ? new FakeWatch(event("ADDED", object), bookmark(6, true))
      : new FakeWatch(bookmark(6, true))
  );
  proxyServers(all, [{ protocol: "http" }]);
  return {
    all,
    lab,
    cut: () => listening.close(),
    // The API server is watched for as long as the transport is there.
    open: () => all.network.openTo((address) => address !== "192.0.2.50:80"),
  };
}

function ssh(): TransportTried {
  return {
    name: "ssh (built-in engine)",
    kind: "ssh",
    of: "Ssh",
    // ssh2's server tells no more than that a connection failed.
    codes: { refused: "unreachable", unknown: "unreachable" },
    open: async () => {
      const all = new Surroundings();
      let asksSilent = false;
      const server = await MemorySshServer.start({
        onChannel: (target) => {
          if (target.startsWith("silent.")) asksSilent = true;
          return target.endsWith(":7") ? "accept" : asksSilent ? "ignore" : "refuse";
        },
      });
      all.files.put("/known_hosts", `192.0.2.100 ${server.publicKey}\n`);
      const listening = all.network.listen({ host: "192.0.2.100", port: 22 });
      const serving = (async () => {
        for (let conn = await listening.accept(); conn; conn = await listening.accept()) {
          await server.take(conn);
        }
      })();
      all.after(async () => {
        listening.close();
        await serving;
        await server[Symbol.asyncDispose]();
      });
      const host = sshHost("far", {
        hostName: "192.0.2.100",
        ciphers: [memoryCipher],
        userKnownHostsFiles: ["/known_hosts"],
      });
      const { network, clock, log, files } = all;
      let accepted = 0;
      const setting: TransportSetting = all.build({ it: { kind: "ssh", settings: "far" } }, {
        ssh: new SshServices({
          ...{ network, clock, log, files },
          reading: () => ({ read: () => Promise.resolve(host), [Symbol.dispose]() {} }),
        }),
        accept: async () => {
          while (server.far.length <= accepted) await nextTurn();
          return server.far[accepted++] ?? assert.fail();
        },
        open: () => sum(setting.transport.status?.().hops?.map(({ channels }) => channels)),
        dialing: async () => {
          while (!asksSilent) await nextTurn();
        },
        cut: () => listening.close(),
      });
      return setting;
    },
    cannot: sharesSessions,
  };
}

/** The slice of a Service with one pod, `NAME-0`. */
function slice(name: string, version: number): unknown {
  return {
    metadata: {
      namespace: "shop",
      name,
      resourceVersion: String(version),
      labels: { "kubernetes.io/service-name": name },
    },
    addressType: "IPv4",
    ports: [{ port: 8080, protocol: "TCP" }],
    endpoints: [{
      addresses: [`10.244.0.${version}`],
      conditions: { ready: true, serving: true, terminating: false },
      targetRef: { kind: "Pod", name: `${name}-0`, namespace: "shop" },
    }],
  };
}

const kubeletRefuses =
  "error forwarding port 8080 to pod closed-0, uid : failed to connect: dial tcp4 127.0.0.1:8080: connect: connection refused";

function kubernetes(): readonly TransportTried[] {
  const tried = (name: string, form: ForwardForm, cannot: TransportTried["cannot"] = {}): TransportTried => ({
    name: `kubernetes (${name})`,
    kind: "kubernetes",
    of: "Kubernetes",
    codes: { refused: "refused", unknown: "name_not_found" },
    open: () => {
      let asksSilent = false;
      const services = ["web", "closed", "silent"];
      const pods = new Map<string, ForwardStandIn>();
      const ends: Conn[] = [];
      const connect = (pod: string) => {
        if (pod === "closed-0") return kubeletRefuses;
        const [inside, outside] = memoryPair();
        ends.push(outside);
        return inside;
      };
      const { all, lab, listening } = cluster(async ({ method, path, target, fields }) => {
        if (path === "/version") return { status: 200, body: { gitVersion: "v1.35.4" } };
        if (path.endsWith("/services")) {
          return listed(
            9,
            ...services.map((name, at) => service(name, at + 1)),
          );
        }
        if (path.endsWith("/endpointslices")) {
          return listed(
            9,
            ...services.map((name, at) => slice(name, at + 1)),
          );
        }
        const pod = /\/pods\/([^/]+)\/portforward$/.exec(path)?.[1];
        if (pod === undefined) return { status: 404, body: {} };
        if (pod === "silent-0") {
          asksSilent = true;
          return "silent";
        }
        const standIn = pods.get(pod) ?? new ForwardStandIn({ forms: [form], connect: () => connect(pod) });
        pods.set(pod, standIn);
        const { signal } = new AbortController();
        const upgrade = await standIn.upgrade({ method, path: target, fields: [...fields] }, { signal });
        if (!upgrade.conn) return { status: upgrade.status, body: { message: upgrade.text } };
        return { upgrade: upgrade.conn, fields: [["Connection", "Upgrade"], ...upgrade.fields] };
      });
      all.after(async () => {
        for (const { connections } of pods.values()) {
          for (const connection of connections) {
            connection.close();
            await connection.done;
          }
        }
      });
      const setting: TransportSetting = all.build({ it: lab }, {
        targets: {
          address: { host: "10.96.0.1", port: 80 },
          name: { host: "web.shop.svc", port: 80 },
          refusing: { host: "closed.shop.svc", port: 80 },
          unknown: { host: "nowhere.shop.svc", port: 80 },
          silent: { host: "silent.shop.svc", port: 80 },
        },
        accept: async () => {
          while (ends.length === 0) await nextTurn();
          return ends.shift() ?? assert.fail();
        },
        open: () => sum(setting.transport.status?.().clusters?.map(({ streams }) => streams)),
        dialing: async () => {
          while (!asksSilent) await nextTurn();
        },
        cut: () => listening.close(),
      });
      return Promise.resolve(setting);
    },
    cannot: {
      "says at the dial that a target refuses":
        "a kubelet says so on the connection, which stands before the pod is asked",
      ...cannot,
    },
  });
  return [
    tried("SPDY over a WebSocket", "websocket"),
    tried("SPDY", "spdy"),
    tried("v4.channel.k8s.io", "v4", withoutHalfClose("one WebSocket ends both directions")),
  ];
}

function konnectivity(): readonly TransportTried[] {
  const tried = (mode: KonnectivityMode, cannot: TransportTried["cannot"] = {}): TransportTried => ({
    name: `konnectivity (${mode})`,
    kind: "konnectivity",
    of: "Konnectivity",
    codes: { refused: "refused", unknown: "name_not_found" },
    open: async () => {
      const all = new Surroundings();
      const { network, clock, log } = all;
      const agents = new Agents({ clock, strategies: ["default"], dialTimeout: 5000, random: () => 0 });
      const deadlines = new Deadlines(clock);
      const limits = { connections: 100, handshake: 5000, halfCloseLinger: 5000 };
      const dialBy =
        (dial: (target: Target, options: { signal: AbortSignal }) => Promise<Conn>): Dial =>
        async ({ target }, options) => {
          const conn = await dial(target, options);
          return { conn, tally: { up: 0, down: 0 }, finish: () => void conn[Symbol.asyncDispose]() };
        };
      const deps = {
        dial: dialBy((target, options) => agents.dial(target, options)),
        clock,
        log,
        deadlines,
        limits,
      };
      const [front, port] = [{ host: "192.0.2.60", port: 8090 }, { host: "192.0.2.60", port: 8091 }];
      const serveFront = mode === "grpc" ? serveGrpcFront : serveConnectFront;
      const listening = all.serve(front, (conn, signal) => serveFront(conn, deps, { signal }));
      all.serve(
        port,
        (conn, signal) =>
          serveAgent(conn, { agents, clock, log, server: { id: "a", count: () => 1 } }, { signal }),
      );
      const farSide = new Direct({ network, clock });
      const agent = new KonnectivityAgent({
        ...{
          clock,
          log,
          id: "agent",
          authority: "server:8091",
          identifiers: "",
          halfCloseLinger: 5000,
          most: 100,
        },
        retry: { first: 1000, most: 10_000 },
        random: () => 0,
        connect: (options) => network.connect(port, options),
        dial: dialBy((target, options) => farSide.dial(target, options)),
      });
      const stop = new AbortController();
      const running = agent.run({ signal: stop.signal }).catch((error) =>
        assert.ok(stop.signal.aborted, `${error}`)
      );
      all.after(async () => {
        stop.abort();
        let isOver = false;
        const ended = running.finally(() => isOver = true);
        // A farewell waits for a moment until it is sent.
        while (!isOver) await clock.advance(100);
        await ended;
        deadlines[Symbol.dispose]();
      });
      while (!agents.isReady) await clock.advance(1);
      // The session of the gRPC frontend carries all dials, as that of the agent does.
      const sessions = ["192.0.2.60:8091", ...mode === "grpc" ? ["192.0.2.60:8090"] : []];
      return all.build({ it: { kind: "konnectivity", settings: { mode, server: { target: front } } } }, {
        open: () => network.openTo((address) => !sessions.includes(address)),
        cut: () => listening.close(),
      });
    },
    cannot,
  });
  return [
    tried("grpc"),
    tried("http-connect", keepsNothing),
  ];
}

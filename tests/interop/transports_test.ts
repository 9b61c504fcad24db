import assert from "node:assert/strict";
import { setImmediate as nextTurn } from "node:timers/promises";
import { PosternError } from "../../src/words/mod.ts";
import type { KubernetesSettings } from "../../src/kube/mod.ts";
import { createFiles } from "../../src/runtime/files/files.ts";
import { createNetwork } from "../../src/runtime/network/network.ts";
import { systemClock } from "../../src/runtime/system_clock.ts";
import { SshServices, type SshServicesOptions } from "../../src/ssh/mod.ts";
import { buildTransports, type TransportsSettings } from "../../src/transports/mod.ts";
import {
  isNeverClosed,
  keepsNothing,
  sharesSessions,
  sum,
  type TransportSetting,
  type TransportTried,
  tryTransport,
  withoutHalfClose,
} from "../contract/transport_contract.ts";
import { countedNetwork } from "../support/counted_network.ts";
import { FullTarget } from "../support/full_target.ts";
import { frontends, KonnectivityLab, konnectivityPeers, untilReady } from "../support/konnectivity_lab.ts";
import { idleSshServices } from "../support/idle_ssh_services.ts";
import { KubeCluster } from "../support/kube_cluster.ts";
import { pod, service } from "../support/kube_objects.ts";
import { noPrograms } from "../support/no_programs.ts";
import { hostLines, OpensshLab, opensshPeers } from "../support/openssh_lab.ts";
import { freePort, type PeerServer } from "../support/peer_program.ts";
import { type PeerPaths, peerTest } from "../support/peers.ts";
import { startDante, startMicrosocks, startTinyproxy } from "../support/real_proxies.ts";
import { recordingLog } from "../support/recording_log.ts";
import { SshLab, sshPeers } from "../support/sshd.ts";

// Checks the transport contract with real servers; tests/contract does so in memory.

const loopback = { host: "127.0.0.1", port: 0 };

interface RealOptions {
  readonly silent: FullTarget;
  readonly ssh?: Pick<SshServicesOptions, "reading" | "openSsh">;
  /** Differences from a transport whose targets listen on loopback. */
  readonly more?: (setting: () => TransportSetting) => Partial<TransportSetting>;
}

/** The transport `it`, with separate targets on loopback. */
function real(settings: TransportsSettings, { silent, ssh: options, more }: RealOptions): TransportSetting {
  const network = countedNetwork();
  const parts = { network, clock: systemClock, files: createFiles(systemClock), log: recordingLog() };
  const ssh = options ? new SshServices({ ...parts, ...options }) : idleSshServices(parts);
  const { byName } = buildTransports(settings, { ...parts, process: noPrograms, ssh });
  const target = network.listen(loopback);
  const port = "port" in target.endpoint ? target.endpoint.port : 0;
  const setting: TransportSetting = {
    transport: byName.get("it")?.transport ?? assert.fail("no transport"),
    targets: {
      address: { host: "127.0.0.1", port },
      name: { host: "localhost", port },
      refusing: { host: "127.0.0.1", port: freePort() },
      unknown: { host: "nowhere.invalid", port: 1 },
      silent: { host: "127.0.0.1", port: silent.port },
    },
    accept: async () => await target.accept() ?? assert.fail("closed"),
    touched: () => network.asked,
    open: () => network.open,
    // The server's dial is not visible from here.
    dialing: async () => {
      for (let turn = 0; turn < 100; turn++) await nextTurn();
    },
    cut: () => network.refusal = new PosternError("refused", "Cannot reach it: connection refused"),
    close: async () => {
      target.close();
      for (const { transport } of byName.values()) await transport[Symbol.asyncDispose]();
      await ssh[Symbol.asyncDispose]();
    },
    ...more?.(() => setting),
  };
  return setting;
}

type ProxyName = "danted" | "microsocks" | "tinyproxy";
const proxies: readonly {
  readonly name: ProxyName;
  readonly scheme: string;
  readonly codes: TransportTried["codes"];
  readonly cannot?: TransportTried["cannot"];
  readonly start: (paths: PeerPaths<ProxyName>, directory: string) => Promise<PeerServer>;
}[] = [
  {
    name: "tinyproxy",
    scheme: "http",
    codes: { refused: "unreachable", unknown: "unreachable" },
    cannot: withoutHalfClose("tinyproxy ends both directions with the first"),
    start: ({ tinyproxy }, directory) => startTinyproxy(tinyproxy, directory),
  },
  {
    name: "microsocks",
    scheme: "socks5",
    codes: { refused: "refused", unknown: "unreachable" },
    cannot: withoutHalfClose("microsocks ends both directions with the first"),
    start: ({ microsocks }) => startMicrosocks(microsocks),
  },
  {
    name: "danted",
    scheme: "socks5",
    codes: { refused: "refused", unknown: "unreachable" },
    start: ({ danted }, directory) => startDante(danted, directory),
  },
];
for (const { name, scheme, codes, cannot, start } of proxies) {
  peerTest(`Proxy meets the contract through ${name}`, [name], async (paths, t) => {
    const directory = await Deno.makeTempDir();
    try {
      await using silent = await FullTarget.create();
      await using proxy = await start(paths as PeerPaths<ProxyName>, directory);
      const settings = { scheme, host: "127.0.0.1", port: proxy.port };
      await tryTransport({
        name: `proxy (${name})`,
        kind: "proxy",
        of: "UpstreamProxy",
        codes,
        open: () => Promise.resolve(real({ it: { kind: "proxy", settings } }, { silent })),
        cannot: {
          ...cannot,
          ...isNeverClosed,
        },
      }, t);
    } finally {
      await Deno.remove(directory, { recursive: true });
    }
  });
}

/** The number of connections in the sessions of a transport. */
const channels = (setting: () => TransportSetting): Partial<TransportSetting> => ({
  open: () => sum(setting().transport.status?.().hops?.map(({ channels }) => channels)),
});

peerTest("Ssh meets the contract with sshd, with the built-in engine", sshPeers, async (paths, t) => {
  await using silent = await FullTarget.create();
  await using lab = await SshLab.create(paths);
  const sshd = await lab.start("jump1");
  const reading = () => ({ read: () => Promise.resolve(lab.host(sshd)), [Symbol.dispose]() {} });
  await tryTransport({
    name: "ssh (built-in engine)",
    kind: "ssh",
    of: "Ssh",
    codes: { refused: "refused", unknown: "name_not_found" },
    open: () =>
      Promise.resolve(
        real({ it: { kind: "ssh", settings: "jump1" } }, { silent, ssh: { reading }, more: channels }),
      ),
    cannot: sharesSessions,
  }, t);
});

peerTest("Ssh meets the contract with sshd, with the engine openssh", opensshPeers, async (paths, t) => {
  await using silent = await FullTarget.create();
  await using lab = await SshLab.create(paths);
  const sshd = await lab.start("jump1");
  const reading = () => ({
    read: () => Promise.resolve({ ...lab.host(sshd), engine: "openssh" as const }),
    [Symbol.dispose]() {},
  });
  await tryTransport({
    name: "ssh (engine openssh)",
    kind: "ssh",
    of: "Ssh",
    codes: { refused: "refused", unknown: "name_not_found" },
    open: async () => {
      const openssh = await OpensshLab.create(lab, [hostLines(lab, sshd)]);
      const setting = real({ it: { kind: "ssh", settings: "jump1" } }, {
        silent,
        ssh: { reading, openSsh: () => openssh.to("jump1") },
        more: channels,
      });
      return {
        ...setting,
        cut: () =>
          Deno.writeTextFileSync(openssh.config, hostLines(lab, { name: "jump1", port: freePort() })),
        close: async () => {
          await setting.close();
          await openssh[Symbol.asyncDispose]();
        },
      };
    },
    cannot: sharesSessions,
  }, t);
});

for (const frontend of frontends) {
  peerTest(
    `Konnectivity meets the contract with a Go server and agent: ${frontend.name}`,
    konnectivityPeers,
    async (paths, t) => {
      await using silent = await FullTarget.create();
      await using lab = await KonnectivityLab.create(paths);
      const running = await lab.goServer(frontend);
      await lab.goAgent(running);
      await untilReady(running.health);
      const { front } = running;
      const { mode } = frontend;
      const server = "path" in front ? front : { target: { host: "127.0.0.1", port: front.port } };
      const tls = "path" in front ? {} : { ca: lab.ca("frontend"), ...lab.pair("frontend", "client") };
      await tryTransport({
        name: `konnectivity (${frontend.name})`,
        kind: "konnectivity",
        of: "Konnectivity",
        codes: { refused: "refused", unknown: "name_not_found" },
        open: () =>
          Promise.resolve(real({ it: { kind: "konnectivity", settings: { mode, server, ...tls } } }, {
            silent,
            ...mode === "grpc" && {
              more: (setting) => ({ open: () => Number(setting().transport.status?.()["streams"] ?? 0) }),
            },
          })),
        cannot: {
          ...withoutHalfClose("Kubernetes' packets close both directions at once"),
          ...mode === "http-connect" && keepsNothing,
        },
      }, t);
    },
  );
}

peerTest(
  "Kubernetes meets the contract with a real API server",
  ["kubernetes"],
  async ({ kubernetes }, t) => {
    await using silent = await FullTarget.create();
    await using cluster = await KubeCluster.start(kubernetes, { linger: "none" });
    await using target = createNetwork().listen(loopback);
    const port = "port" in target.endpoint ? target.endpoint.port : 0;
    const labelled = (name: string, targets: Readonly<Record<number, string>>) => [
      pod({ name, labels: { app: name }, ports: { http: 80 }, targets }),
      service({ name, selector: { app: name }, ports: [{ name: "http", port: 80 }] }),
    ];
    await cluster.apply(
      ...labelled("web", { 80: `127.0.0.1:${port}` }),
      ...labelled("deaf", {}),
      ...labelled("silent", { 80: `127.0.0.1:${silent.port}` }),
    );
    for (const name of ["web", "deaf", "silent"]) await cluster.untilReady("default", name);
    const { spec } = await cluster.json("GET", "/api/v1/namespaces/default/services/web") as {
      spec: { clusterIP: string };
    };
    const settings: KubernetesSettings = {
      kubeconfigs: [await cluster.writeKubeconfig()],
      clusterDomain: "cluster.local",
      halfClose: "pass",
      externalName: "refuse",
    };
    const late = "the kubelet reports it on the connection, which opens before the pod is contacted";
    await tryTransport({
      name: "kubernetes",
      kind: "kubernetes",
      of: "Kubernetes",
      codes: { refused: "refused", unknown: "name_not_found" },
      open: () =>
        Promise.resolve(real({ it: { kind: "kubernetes", settings } }, {
          silent,
          more: (setting) => ({
            targets: {
              address: { host: spec.clusterIP, port: 80 },
              name: { host: "web.default.svc", port: 80 },
              refusing: { host: "deaf.default.svc", port: 80 },
              unknown: { host: "nowhere.default.svc", port: 80 },
              silent: { host: "silent.default.svc", port: 80 },
            },
            accept: async () => await target.accept() ?? assert.fail("closed"),
            // The dial waits for the API server only.
            dialing: () => Promise.resolve(),
            open: () => sum(setting().transport.status?.().clusters?.map(({ streams }) => streams)),
          }),
        })),
      cannot: {
        "reports at the dial that a target refuses": late,
      },
    }, t);
  },
);

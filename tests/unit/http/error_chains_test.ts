import assert from "node:assert/strict";
import type { Conn } from "../../../src/core/mod.ts";
import { describe, exitCode, formatTarget, PosternError } from "../../../src/words/mod.ts";
import { HttpClient, UpstreamProxy } from "../../../src/http/mod.ts";
import { Direct } from "../../../src/transports/mod.ts";
import { Konnectivity } from "../../../src/transports/konnectivity.ts";
import { KubeClient } from "../../../src/kube/api/kube_client.ts";
import { readKubeConfig } from "../../../src/kube/api/kube_config.ts";
import { reachingThrough } from "../../../src/ssh/hops/reach_ssh_host.ts";
import { connectSsh, type SshReach } from "../../../src/ssh/session/connect_ssh.ts";
import type { SshHost } from "../../../src/ssh/config/ssh_host.ts";
import { socketError } from "../../../src/runtime/network/socket_error.ts";
import { tlsError } from "../../../src/runtime/tls/tls_error.ts";
import type { Dialer, Network } from "../../../src/world/mod.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { kubeconfigOf } from "../../support/kube_world.ts";
import { memoryPair } from "../../support/memory_conn.ts";
import { MemoryFiles } from "../../support/memory_files.ts";
import { MemoryNetwork } from "../../support/memory_network.ts";
import { repeatsCannot } from "../../support/one_cause.ts";

const { signal } = new AbortController();
const target = { host: "web.example", port: 443 };

/** A network whose connections all fail like the system's, or whose TLS fails with the code `tls`. */
class Broken extends MemoryNetwork {
  readonly #code: string;
  readonly #tls: string | undefined;

  constructor(code: string, tls?: string) {
    super();
    this.#code = code;
    this.#tls = tls;
    this.names.set("localhost", ["127.0.0.1", "::1"]);
    this.names.set("api.lab", ["192.0.2.7", "2001:db8::7"]);
    this.names.set("proxy.corp", ["192.0.2.8"]);
  }

  override connect(...[endpoint]: Parameters<Network["connect"]>): Promise<Conn> {
    if (this.#tls !== undefined) return Promise.resolve(memoryPair()[0]);
    const error = Object.assign(new Error(`${this.#code} (os error 111)`), { code: this.#code });
    return Promise.reject(socketError(error, "path" in endpoint ? endpoint.path : formatTarget(endpoint)));
  }

  override secure(...[, { serverName }]: Parameters<Network["secure"]>): Promise<Conn> {
    return Promise.reject(
      tlsError(
        Object.assign(new Error("Host: api.lab. is not in the cert"), { code: this.#tls }),
        serverName,
      ),
    );
  }
}

interface NetworkPath {
  readonly network: Broken;
  /** Direct unless a chain goes through another transport. */
  readonly dialer: Dialer;
}

function parts({ network, dialer }: NetworkPath) {
  return { network, dialer, files: new MemoryFiles(), clock: new FakeClock() };
}

const direct = ({ network }: Pick<NetworkPath, "network">): Dialer => {
  const straight = new Direct({ network, clock: new FakeClock() });
  return (target, options) => straight.dial(target, options);
};

const proxy = (path: NetworkPath, host: string) =>
  new UpstreamProxy({ scheme: "http", host, port: 3128 }, { ...parts(path), name: "corp" });

const konnectivity = (path: NetworkPath, mode: "grpc" | "http-connect", host = "localhost") =>
  new Konnectivity({ mode, server: { target: { host, port: 8090 } } }, { ...parts(path), name: "tunnel" });

async function askApi(path: NetworkPath): Promise<unknown> {
  const { files, ...more } = parts(path);
  files.put("/kube/config", kubeconfigOf({ server: "https://api.lab:6443", user: { token: "secret" } }));
  const context = (await readKubeConfig(files, ["/kube/config"])).context("lab");
  const process = { run: () => Promise.reject(new Error("unexpected program")) };
  await using client = new KubeClient(context, { ...more, files, process, dial: path.dialer });
  return await client.json({ path: "/" }, { signal });
}

async function askSsh(path: NetworkPath): Promise<unknown> {
  const host: Partial<SshHost> = { alias: "jump1", hostName: "api.lab", port: 22, addressFamily: "inet" };
  const clock = new FakeClock();
  const reach = reachingThrough(path.dialer, {
    network: path.network,
    services: { clock, runCommand: undefined },
    isStraight: true,
  });
  const deps = { clock, connectTimeout: 1000 };
  const whole = {
    host,
    below: undefined,
    deps,
    reach: (options: { signal: AbortSignal }) => reach(host as SshHost, options),
  };
  return await connectSsh(whole as unknown as SshReach, { signal });
}

const chains: readonly {
  readonly name: string;
  readonly fails: string;
  readonly tls?: string;
  readonly ask: (path: NetworkPath) => Promise<unknown>;
  readonly code: PosternError["code"];
  readonly says: string;
  /** The additional text of the log: the system's error. */
  readonly adds?: string;
}[] = [
  {
    name: "localhost",
    fails: "ECONNREFUSED",
    ask: ({ dialer }) => dialer({ host: "localhost", port: 8090 }, { signal }),
    code: "refused",
    says: "Cannot reach localhost:8090: connection refused",
  },
  {
    name: "a name with two addresses",
    fails: "ENETUNREACH",
    ask: ({ dialer }) => dialer({ host: "api.lab", port: 443 }, { signal }),
    code: "unreachable",
    says: "Cannot reach api.lab:443: no way to that network (192.0.2.7, 2001:db8::7)",
  },
  ...(["grpc", "http-connect"] as const).map((mode) => ({
    name: `a Konnectivity server in ${mode} mode`,
    fails: "ECONNREFUSED",
    ask: (path: NetworkPath) => konnectivity(path, mode).dial(target, { signal }),
    code: "unreachable" as const,
    says: "Cannot reach the Konnectivity server localhost:8090: connection refused",
  })),
  {
    name: "a Konnectivity server behind a proxy",
    fails: "ETIMEDOUT",
    ask: (path) => {
      const corp = proxy(path, "proxy.corp");
      const dialer: Dialer = (to, options) => corp.dial(to, options);
      return konnectivity({ ...path, dialer }, "grpc", "k.lab").dial(target, { signal });
    },
    code: "timeout",
    says:
      'Cannot reach the Konnectivity server k.lab:8090: cannot reach the proxy "corp" (proxy.corp:3128): ' +
      "no answer (192.0.2.8)",
  },
  {
    name: "a proxy with a name",
    fails: "ECONNREFUSED",
    ask: (path) => proxy(path, "proxy.corp").dial(target, { signal }),
    code: "unreachable",
    says: 'Cannot reach the proxy "corp" (proxy.corp:3128): connection refused (192.0.2.8)',
  },
  {
    name: "a proxy with an address",
    fails: "EHOSTUNREACH",
    ask: (path) => proxy(path, "192.0.2.8").dial(target, { signal }),
    code: "unreachable",
    says: 'Cannot reach the proxy "corp" (192.0.2.8:3128): no way to that host',
  },
  {
    name: "an API server",
    fails: "ECONNREFUSED",
    ask: askApi,
    code: "unreachable",
    says: 'Cannot reach the API server of the cluster "lab" (api.lab:6443): ' +
      "connection refused (192.0.2.7, 2001:db8::7)",
  },
  {
    name: "an API server with an untrusted certificate",
    fails: "",
    tls: "SELF_SIGNED_CERT_IN_CHAIN",
    ask: askApi,
    code: "auth",
    says: 'Cannot reach the API server of the cluster "lab" (api.lab:6443): ' +
      "no CA that is trusted here has signed its certificate",
  },
  {
    name: "an API server with a certificate for other names",
    fails: "",
    tls: "ERR_TLS_CERT_ALTNAME_INVALID",
    ask: askApi,
    code: "auth",
    says: 'Cannot reach the API server of the cluster "lab" (api.lab:6443): ' +
      'cannot trust "api.lab": its certificate is for other names',
    adds: ": Host: api.lab. is not in the cert",
  },
  {
    name: "an API server behind a proxy",
    fails: "ECONNREFUSED",
    ask: (path) => {
      const corp = proxy(path, "proxy.corp");
      return askApi({ ...path, dialer: (to, options) => corp.dial(to, options) });
    },
    code: "unreachable",
    says: 'Cannot reach the API server of the cluster "lab" (api.lab:6443): ' +
      'cannot reach the proxy "corp" (proxy.corp:3128): connection refused (192.0.2.8)',
  },
  {
    name: "an ssh host",
    fails: "ECONNREFUSED",
    ask: askSsh,
    code: "unreachable",
    says: "Cannot reach ssh jump1 (api.lab:22): connection refused (192.0.2.7)",
  },
  {
    name: "a web server",
    fails: "ECONNRESET",
    ask: ({ network }) =>
      new HttpClient({ clock: new FakeClock(), network })
        .ask({ url: new URL("http://proxy.corp/") }, { signal }),
    code: "unreachable",
    says: "Cannot reach proxy.corp:80: it was reset (192.0.2.8)",
  },
  {
    name: "a name that does not exist",
    fails: "ECONNREFUSED",
    ask: (path) => proxy(path, "nowhere.test").dial(target, { signal }),
    code: "unreachable",
    says: 'Cannot reach the proxy "corp" (nowhere.test:3128): no such name',
  },
];

for (const { name, fails, tls, ask, code, says, adds = "" } of chains) {
  Deno.test(`a failure is reported once: ${name}`, async () => {
    const network = new Broken(fails, tls);
    const error = await ask({ network, dialer: direct({ network }) })
      .then(() => assert.fail("expected a failure"), (error: unknown) => error);
    assert.ok(error instanceof PosternError, String(error));
    assert.deepEqual([error.code, error.message, describe(error)], [code, says, says + adds]);
    assert.equal(exitCode(error), code === "auth" ? 5 : 6);
    assert.ok(!repeatsCannot(error.message));
  });
}

Deno.test("repeatsCannot() finds a cause that a message repeats verbatim", () => {
  assert.ok(repeatsCannot("postern: error: Cannot reach a: Cannot reach b: connection refused"));
  assert.ok(!repeatsCannot("Cannot reach a: cannot reach b: no answer\nCannot reach c"));
});

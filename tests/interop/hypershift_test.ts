import assert from "node:assert/strict";
import { ProxyServer } from "../support/proxy_server.ts";
import { createNetwork } from "../../src/runtime/network/network.ts";
import { hasServiceAddresses } from "../support/cluster_addresses.ts";
import { HypershiftLab, hypershiftPeers } from "../support/hypershift_lab.ts";
import { NamedServer } from "../support/kube_instance.ts";
import { service } from "../support/kube_objects.ts";
import { isLongRun } from "../support/long_runs.ts";
import { freePort, runPeer } from "../support/peer_program.ts";
import { type PeerPaths, peerTest, skippedTest } from "../support/peers.ts";
import type { Instance } from "../support/postern_process.ts";

/** The gRPC client, which keeps its stream open until the test ends it. */
class Conversation implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;
  readonly #stdin: WritableStreamDefaultWriter<Uint8Array>;
  readonly #said: Promise<string>;
  #text = "";
  #changed = Promise.withResolvers<void>();

  constructor(program: string, instance: string, target: string) {
    this.#child = new Deno.Command(program, {
      args: ["socks5", instance, target],
      clearEnv: true,
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    this.#stdin = this.#child.stdin.getWriter();
    this.#said = this.#collect();
  }

  /** Resolves when the client prints the word; rejects when it exits first. */
  async says(word: string): Promise<void> {
    const ended = this.#said.then((said) => {
      if (!this.#text.includes(word)) throw new Error(`the client exited: ${said}`);
    });
    while (!this.#text.includes(word)) await Promise.race([this.#changed.promise, ended]);
  }

  /** Ends the stream and returns how many words it has carried. */
  async end(): Promise<number> {
    await this.#stdin.close();
    const said = await this.#said;
    const { code } = await this.#child.status;
    assert.equal(code, 0, said);
    return Number(/stream ok, (\d+) words/.exec(said)?.[1]);
  }

  async #collect(): Promise<string> {
    const errors = new Response(this.#child.stderr).text();
    for await (const chunk of this.#child.stdout.pipeThrough(new TextDecoderStream())) {
      this.#text += chunk;
      const { resolve } = this.#changed;
      this.#changed = Promise.withResolvers();
      resolve();
    }
    return this.#text + await errors;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.#child.kill("SIGKILL");
    } catch (error) {
      // The client has exited by itself.
      if (!(error instanceof TypeError)) throw error;
    }
    await this.#said;
    await this.#child.status;
    await this.#stdin.close().catch(() => {});
  }
}

interface Fetched {
  readonly body: string;
  readonly said: string;
  /** The reply code of a SOCKS proxy's refusal. */
  readonly reply: number | undefined;
}

async function fetchBy(curl: string, way: readonly string[], url: string): Promise<Fetched> {
  const { stdout, stderr } = await runPeer(curl, ["-sS", "--noproxy", "", "--max-time", "60", ...way, url]);
  const refused = /\((\d+)\)\s*$/.exec(stderr.trim())?.[1];
  return { body: stdout, said: stderr, reply: refused === undefined ? undefined : Number(refused) };
}

const bySocks = async (instance: Instance) => ["--socks5-hostname", await instance.address()];
const byHttp = async (
  instance: Instance,
) => ["--proxy", `http://${await instance.address()}`, "--proxytunnel"];

const story = "the story of HyperShift: sidecars into a guest cluster";
if (hasServiceAddresses()) peerTest(story, hypershiftPeers, tell);
else skippedTest(story, "only on a machine that allows listening on 127.96.0.10:53");

async function tell(paths: PeerPaths<typeof hypershiftPeers[number]>, t: Deno.TestContext): Promise<void> {
  await using lab = await HypershiftLab.open(paths);
  await using web = new NamedServer("web of the guest");
  const webPort = Number(web.address.split(":")[1]);
  const talk = await lab.talk();
  await lab.cluster.namespace("olm");
  await lab.cluster.namespace("shop");
  const catalog = await lab.service("catalog", "olm", { ip: "127.96.7.7", port: 50051, to: talk.port });
  await lab.service("web", "shop", { ip: "127.96.8.8", port: 80, to: webPort });
  for (const name of ["headless", "pods"]) {
    await lab.cluster.apply(service({ name, namespace: "shop", clusterIps: ["None"] }));
  }
  const dns = await lab.dns();

  for (
    const { whose, mode } of [{ whose: "Go", mode: "http-connect" }, {
      whose: "postern",
      mode: "grpc",
    }] as const
  ) {
    const front = await lab.front(whose, mode);

    await t.step(
      `gRPC to a Service of the guest during a rotation of certificates: ${whose}, ${mode}`,
      async () => {
        const { cert, key } = lab.certificates.pair("frontend", "client");
        await lab.client.put({ "tls.crt": cert, "tls.key": key });
        await using instance = await lab.sidecar("socks5", front, { more: [`--mode=${mode}`] });
        const way = await bySocks(instance);
        const before = catalog.connections;
        await using held = new Conversation(
          paths.grpctalk,
          await instance.address(),
          "catalog.olm.svc:50051",
        );
        await held.says("stream begun").catch((error) => assert.fail(`${error} ${instance.stderr}`));
        assert.equal((await fetchBy(paths.curl, way, "http://web.shop/")).body, "web of the guest");

        const stranger = lab.certificates.pair("stranger", "client");
        await lab.client.put({ "tls.crt": stranger.cert, "tls.key": stranger.key });
        const refused = await fetchBy(paths.curl, way, "http://web.shop/");
        assert.equal(refused.body, "", "new connections use the mounted certificate");
        assert.ok(refused.reply !== undefined && refused.reply !== 5, refused.said);

        await lab.certificates.renew();
        await lab.client.put({ "tls.crt": cert, "tls.key": key });
        assert.equal(
          (await fetchBy(paths.curl, way, "http://web.shop/")).body,
          "web of the guest",
          instance.stderr,
        );
        await using second = new Conversation(
          paths.grpctalk,
          await instance.address(),
          "catalog.olm.svc.cluster.local:50051",
        );
        await second.says("unary ok");

        if (isLongRun()) await new Promise((resolve) => setTimeout(resolve, 60_000));
        assert.ok(await second.end() >= 1);
        assert.ok(await held.end() >= (isLongRun() ? 100 : 2));
        assert.equal(catalog.connections, before + 2);
        instance.kill("SIGTERM");
        assert.equal((await instance.ended).code, 0);
      },
    );
  }

  const front = await lab.front("Go");

  await t.step(
    "names resolve to Services, then by the guest's DNS, and others are not found",
    async () => {
      await using instance = await lab.sidecar("socks5", front, {
        more: ["--resolve-from-guest-cluster-dns=true"],
      });
      const way = await bySocks(instance);
      const services = ["web.shop", "web.shop.svc", "web.shop.svc.cluster.local"];
      for (const host of [...services, "db.internal", "pods.shop.svc.cluster.local"]) {
        assert.equal(
          (await fetchBy(paths.curl, way, `http://${host}/`)).body,
          "web of the guest",
          `${host} ${instance.stderr}`,
        );
      }
      assert.ok(dns.connections > 0);
      const asked = dns.connections;
      assert.equal((await fetchBy(paths.curl, way, "http://db.internal/")).body, "web of the guest");
      assert.equal(dns.connections, asked, "DNS answers are cached");
      const replies = [
        ["a Service that is not there", "http://no.shop.svc/", 4],
        ["a headless Service that the DNS does not know", "http://headless.shop.svc/", 4],
        ["a port that is closed", `http://web.shop:${freePort()}/`, 5],
      ] as const;
      for (const [what, url, reply] of replies) {
        assert.equal((await fetchBy(paths.curl, way, url)).reply, reply, `${what}: ${instance.stderr}`);
      }
      // Watches report new Services without a restart, and no dial queries the API.
      const lists = () => lab.cluster.requests({ resource: "services", verb: "LIST" });
      const before = await lists();
      await lab.cluster.apply(
        service({ name: "late", namespace: "shop", clusterIps: ["127.96.8.9"], ports: [{ port: 80 }] }),
      );
      await lab.service("late", "shop", { ip: "127.96.8.9", port: 80, to: webPort });
      for (let tries = 0, body = ""; body !== "web of the guest"; tries++) {
        assert.ok(tries < 100, instance.stderr);
        ({ body } = await fetchBy(paths.curl, way, "http://late.shop/"));
      }
      for (let count = 0; count < 10; count++) await fetchBy(paths.curl, way, "http://late.shop/");
      // Other clients may list occasionally.
      assert.ok(await lists() - before < 5, "no dial lists Services");
    },
  );

  await t.step("the https variant serves CONNECT and GET, also through the guest's proxy", async () => {
    await using instance = await lab.sidecar("https", front);
    for (const url of ["http://web.shop/", "http://db.internal/"]) {
      assert.equal(
        (await fetchBy(paths.curl, await byHttp(instance), url)).body,
        "web of the guest",
        instance.stderr,
      );
    }
    const proxy = ["--proxy", `http://${await instance.address()}`];
    assert.equal((await fetchBy(paths.curl, proxy, "http://web.shop/")).body, "web of the guest");

    const network = createNetwork();
    const elsewhere = {
      ...network,
      connect: (_: unknown, options: { signal: AbortSignal }) =>
        network.connect({ host: "127.0.0.1", port: webPort }, options),
    };
    await using squid = new ProxyServer(elsewhere, { host: "127.0.0.1", port: 0 }, { protocol: "http" });
    assert.ok("port" in squid.endpoint);
    await lab.cluster.namespace("egress");
    await lab.service("squid", "egress", { ip: "127.96.9.9", port: 3128, to: squid.endpoint.port });
    await using behind = await lab.sidecar("https", front, {
      more: ["--https-proxy", "http://squid.egress.svc:3128", "--http-proxy", "", "--no-proxy", ".svc,.shop"],
    });
    const way = await byHttp(behind);
    assert.equal(
      (await fetchBy(paths.curl, way, "http://idp.example:8443/")).body,
      "web of the guest",
      behind.stderr,
    );
    assert.equal((await fetchBy(paths.curl, way, "http://web.shop/")).body, "web of the guest");
    assert.deepEqual(squid.asked, ["idp.example:8443"]);
  });

  await t.step("postern reaches cloud APIs through HTTPS_PROXY, by name", async () => {
    const network = createNetwork();
    const elsewhere = {
      ...network,
      connect: (_: unknown, options: { signal: AbortSignal }) =>
        network.connect({ host: "127.0.0.1", port: webPort }, options),
    };
    await using corp = new ProxyServer(elsewhere, { host: "127.0.0.1", port: 0 }, { protocol: "http" });
    assert.ok("port" in corp.endpoint);
    await using instance = await lab.sidecar("socks5", front, {
      more: ["--connect-directly-to-cloud-apis"],
      env: { HTTPS_PROXY: `http://127.0.0.1:${corp.endpoint.port}`, NO_PROXY: "kube-apiserver,.svc" },
    });
    const way = await bySocks(instance);
    const { body } = await fetchBy(paths.curl, way, "http://ec2.eu-west-1.amazonaws.com:443/");
    assert.equal(body, "web of the guest", instance.stderr);
    assert.equal((await fetchBy(paths.curl, way, "http://web.shop/")).body, "web of the guest");
    assert.deepEqual(corp.asked, ["ec2.eu-west-1.amazonaws.com:443"]);
  });

  await t.step(
    "without an agent nothing is reachable; this machine resolves names if configured",
    async () => {
      const alone = await lab.certificates.goServer({ mode: "http-connect", isSocket: false });
      assert.ok("port" in alone.front);
      const more = ["--resolve-from-guest-cluster-dns", "--resolve-from-management-cluster-dns=true"];
      await using instance = await lab.sidecar("socks5", alone.front.port, { more });
      const way = await bySocks(instance);
      const refused = await fetchBy(paths.curl, way, "http://web.shop/");
      assert.ok(refused.reply !== undefined && refused.reply !== 5, refused.said);
      // The only name that every machine resolves.
      const { body } = await fetchBy(paths.curl, way, `http://localhost:${webPort}/`);
      assert.equal(body, "web of the guest", instance.stderr);
    },
  );

  await t.step(
    "the agent resolves names when the resolver is off, and no kubeconfig is needed",
    async () => {
      await using instance = await lab.sidecar("socks5", front, {
        more: ["--disable-resolver=true"],
        env: { KUBECONFIG: "" },
      });
      const { body } = await fetchBy(paths.curl, await bySocks(instance), `http://localhost:${webPort}/`);
      assert.equal(body, "web of the guest", instance.stderr);
    },
  );

  await t.step("a corrected kubeconfig is read again", async () => {
    const away = `https://127.0.0.1:${freePort()}`;
    const wrong = await lab.cluster.writeKubeconfig({ name: "guest", cluster: { server: away } });
    await using instance = await lab.sidecar("socks5", front, { env: { KUBECONFIG: wrong } });
    const way = await bySocks(instance);
    assert.equal((await fetchBy(paths.curl, way, "http://web.shop.svc/")).reply, 4);
    await Deno.rename(await lab.cluster.writeKubeconfig({ name: "guest.new" }), wrong);
    await instance.says(/config\.reloaded/);
    assert.equal(
      (await fetchBy(paths.curl, way, "http://web.shop.svc/")).body,
      "web of the guest",
      instance.stderr,
    );
  });

  await t.step(
    "an instance knows the guest's Services, although the API is reached through the same server",
    async () => {
      const { cert, key } = lab.certificates.pair("frontend", "client");
      const server = `https://localhost:${lab.cluster.address.split(":")[1]}`;
      const kubeconfig = await lab.cluster.writeKubeconfig({ name: "behind", cluster: { server } });
      await lab.home.configure(`
transports:
  lab: { kubernetes: { kubeconfig: "${kubeconfig}" }, via: hosted }
  hosted:
    konnectivity:
      server: 127.0.0.1:${front}
      mode: http-connect
      ca: ${lab.certificates.ca("frontend")}
      cert: ${cert}
      key: ${key}
      names: { services: lab, guestDNS: true, guestDNSService: openshift-dns/dns-default, managementDNS: false, cloudDirect: true }
default: hosted
`);
      await using instance = await lab.home.instance();
      const way = await bySocks(instance);
      for (const host of ["web.shop", "db.internal"]) {
        assert.equal(
          (await fetchBy(paths.curl, way, `http://${host}/`)).body,
          "web of the guest",
          instance.stderr,
        );
      }
      assert.equal((await fetchBy(paths.curl, way, "http://no.shop.svc/")).reply, 4);
      const explained = await lab.home.run(["explain", "--dial", "web.shop:80"]);
      assert.match(explained.stdout, /found web\.shop: 127\.96\.8\.8 \(its Service\)/, explained.stderr);
    },
  );
}

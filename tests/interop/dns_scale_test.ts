import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { decodeDnsMessage, dnsQuestion, encodeDnsMessage } from "../../src/dns/mod.ts";
import { KubeHome } from "../support/kube_instance.ts";
import { pod } from "../support/kube_objects.ts";
import { isLongRun } from "../support/long_runs.ts";
import { eventually, freePort, runPeer } from "../support/peer_program.ts";
import { peerTest, skippedTest } from "../support/peers.ts";
import type { Instance } from "../support/postern_process.ts";
import { TargetServer } from "../support/target_server.ts";

// Many Services on loopback addresses: what a name costs, and that nothing is left after it.

const count = isLongRun() ? 1000 : 40;
const atOnce = 16;
const megabyte = 1_000_000;
const name = "an instance listens for many Services with two ports each, and closes everything";

if (Deno.build.os !== "linux") skippedTest(name, "only on linux");
else {
  peerTest(name, ["kubernetes", "curl", "sh"], async (peers) => {
    await using kube = await KubeHome.open(peers, { serviceNetworks: "10.96.0.0/16" });
    const { cluster, home } = kube;
    // Servers that speak first, like most databases.
    await using one = new TargetServer(async (client) => {
      await client.send("one");
      await client.rest();
    });
    await using two = new TargetServer(async (client) => {
      await client.send("two");
      await client.rest();
    });
    await cluster.namespace("shop");
    await cluster.apply(
      pod({ name: "web", namespace: "shop", targets: { 8001: one.address, 8002: two.address } }),
    );
    const ports = [freePort(), freePort()] as const;
    const many = async (work: (index: number) => Promise<void>) => {
      let next = 0;
      const worker = async () => {
        while (next < count) await work(next++);
      };
      await Promise.all(Array.from({ length: atOnce }, worker));
    };
    await many(async (index) => {
      const service = `db-${index}`;
      await cluster.json("POST", "/api/v1/namespaces/shop/services", {
        apiVersion: "v1",
        kind: "Service",
        metadata: { name: service },
        spec: {
          ports: [
            { name: "one", port: ports[0], targetPort: 8001 },
            { name: "two", port: ports[1], targetPort: 8002 },
          ],
        },
      });
      await cluster.json("POST", "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices", {
        apiVersion: "discovery.k8s.io/v1",
        kind: "EndpointSlice",
        metadata: { name: `${service}-slice`, labels: { "kubernetes.io/service-name": service } },
        addressType: "IPv4",
        ports: [{ name: "one", port: 8001 }, { name: "two", port: 8002 }],
        endpoints: [{
          addresses: ["10.244.0.9"],
          conditions: { ready: true },
          targetRef: { kind: "Pod", name: "web", namespace: "shop" },
        }],
      });
    });
    const config = `
listen: { mixed: "127.0.0.1:0", dns: "127.0.0.1:0" }
transports: { lab: { kubernetes: { kubeconfig: ${await cluster.writeKubeconfig()} } } }
routes: [{ to: [.svc], via: lab }]
`;
    await home.configure(`${config}dns: { loopback: 127.64.0.0/12, idle: 10s }\n`);
    const instance = home.start(["proxy"]);
    const dns = Number((await instance.ready).find((one) => one.startsWith("dns:"))?.split(":").at(-1));
    const resolver = await Resolver.open(dns);
    using _resolver = resolver;
    // The first question opens the cluster; a resolver repeats it.
    const isAnswered = async () => (await resolver.lookup("db-0.shop.svc")).startsWith("127.");
    await eventually("the cluster answers", isAnswered);
    assert.match(await firstByte(resolver, "db-0.shop.svc", ports[0]), /^o/);
    const before = await footprint(peers.sh, instance);
    const order = Array.from({ length: count }, (_, index) => index).sort(() => Math.random() - 0.5);
    const times: number[] = [];
    await many(async (at) => {
      for (const which of at % 2 === 0 ? [0, 1] as const : [1, 0] as const) {
        const begun = performance.now();
        const said = await firstByte(resolver, `db-${order[at]}.shop.svc`, ports[which]);
        times.push(performance.now() - begun);
        assert.equal(said, which === 0 ? "one" : "two", instance.stderr);
      }
    });
    const status = async () => JSON.parse((await home.run(["status", "-o", "json"])).stdout)[0];
    const loopback = async () => (await status()).dns.loopback;
    await eventually("no connection is open", async () => (await status()).connections.open === 0);
    const full = await footprint(peers.sh, instance);
    const listening = await loopback();
    assert.deepEqual(listening, { range: "127.64.0.0/12", names: count, listeners: 2 * count });
    // Without the range they go at once; the nightly run waits until nothing has used them.
    if (!isLongRun()) await home.configure(config);
    await eventually("no listener is left", async () => ((await loopback())?.listeners ?? 0) === 0);
    const after = await footprint(peers.sh, instance);
    times.sort((one, other) => one - other);
    const at = (share: number) => (times[Math.floor(times.length * share)] ?? 0).toFixed(1);
    const more = full.bytes - before.bytes;
    console.log(
      `${count} Services: ${listening.listeners} listeners, ${(more / megabyte).toFixed(1)} MB more ` +
        `(${(more / listening.listeners / 1000).toFixed(1)} kB a listener); question to first byte, ` +
        `${atOnce} at once: median ${at(0.5)} ms, 99 % ${at(0.99)} ms; ` +
        `descriptors ${before.descriptors}, ${full.descriptors}, ${after.descriptors} after`,
    );
    // Before, the name that was asked first had its two listeners.
    assert.ok(after.descriptors <= before.descriptors, `${after.descriptors} of ${before.descriptors}`);
    assert.ok(full.descriptors - before.descriptors <= 2 * count + 16, `${full.descriptors}`);
    assert.ok(more < 20_000 * 2 * count + 40 * megabyte, `${more} bytes`);
    instance.kill("SIGTERM");
    assert.equal((await instance.ended).code, 0, instance.stderr);
  });
}

/** The memory and the open descriptors of an instance. */
async function footprint(sh: string, { pid }: Instance): Promise<{ bytes: number; descriptors: number }> {
  const { stdout } = await runPeer(sh, ["-c", `cat /proc/${pid}/status; ls /proc/${pid}/fd | wc -l`]);
  const [, kilobytes = ""] = /^VmRSS:\s+([0-9]+) kB$/m.exec(stdout) ?? assert.fail(stdout);
  return { bytes: Number(kilobytes) * 1024, descriptors: Number(stdout.trim().split("\n").at(-1)) };
}

/** Looks a name up, connects to its address and reads the greeting. */
async function firstByte(resolver: Resolver, name: string, port: number): Promise<string> {
  using conn = await Deno.connect({ hostname: await resolver.lookup(name), port });
  const into = new Uint8Array(3);
  let length = 0;
  while (length < 3) length += await conn.read(into.subarray(length)) ?? assert.fail("closed early");
  return new TextDecoder().decode(into);
}

/** A stub resolver. */
class Resolver implements Disposable {
  readonly #socket = createSocket("udp4");
  readonly #waiting = new Map<number, (address: string) => void>();
  #next = 0;

  static async open(port: number): Promise<Resolver> {
    const resolver = new Resolver();
    const socket = resolver.#socket;
    socket.on("message", (message) => resolver.#take(Uint8Array.from(message)));
    socket.connect(port, "127.0.0.1");
    await once(socket, "connect");
    return resolver;
  }

  lookup(name: string): Promise<string> {
    const id = this.#next = (this.#next + 1) & 0xffff;
    const { promise, resolve } = Promise.withResolvers<string>();
    this.#waiting.set(id, resolve);
    this.#socket.send(encodeDnsMessage(dnsQuestion(id, name, "A")));
    return promise;
  }

  #take(bytes: Uint8Array<ArrayBuffer>): void {
    const message = decodeDnsMessage(bytes)?.value;
    const [answer] = message?.answers ?? [];
    const address = answer && "address" in answer ? answer.address : `no address: rcode ${message?.rcode}`;
    this.#waiting.get(message?.id ?? -1)?.(address);
  }

  [Symbol.dispose](): void {
    this.#socket.close();
  }
}

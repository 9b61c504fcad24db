import assert from "node:assert/strict";
import { KubeHome, NamedServer } from "../support/kube_instance.ts";
import { pod, service } from "../support/kube_objects.ts";
import { patternBytes } from "../support/pattern_bytes.ts";
import { peerTest } from "../support/peers.ts";
import type { Instance } from "../support/postern_process.ts";
import { RawClient } from "../support/raw_client.ts";
import { TargetServer } from "../support/target_server.ts";

// Forwards with the real program, a real API server and the streaming code of the real kubelet.

/** A client connected to a Service through the instance; `early` is sent together with the request. */
async function connected(instance: Instance, target: string, early = ""): Promise<RawClient> {
  const client = await RawClient.connect(await instance.address());
  await client.send(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n\r\n${early}`);
  assert.match(await client.takeUntil("\r\n\r\n"), /^HTTP\/1.1 200 /);
  return client;
}

/** Answers with the data it got and its length, once the client has half-closed. */
function countingServer(): TargetServer {
  return new TargetServer(async (client) => {
    let count = 0;
    for (let bytes = await client.some(); bytes; bytes = await client.some()) count += bytes.length;
    await client.send(`got ${count}`);
  });
}

for (const [linger, halfClose] of [["none", "pass"], ["containerd", "hold"]] as const) {
  peerTest(
    `forwards keep the client's data, with halfClose: ${halfClose}`,
    ["kubernetes", "curl"],
    async (peers, t) => {
      await using kube = await KubeHome.open(peers, { linger });
      const { cluster, home } = kube;
      await using counting = countingServer();
      await using echo = new TargetServer(async (client) => {
        for (let bytes = await client.some(); bytes; bytes = await client.some()) await client.send(bytes);
      });
      // Answers a question, and continues only after the client has received the answer.
      await using asking = new TargetServer(async (client) => {
        await client.takeUntil("\n");
        await client.send("answer\n");
      });
      await using web = new NamedServer("web");
      await cluster.apply(
        pod({
          name: "all",
          labels: { app: "all" },
          targets: { 1: counting.address, 2: echo.address, 3: asking.address, 80: web.address },
        }),
        service({
          name: "all",
          selector: { app: "all" },
          ports: [1, 2, 3, 80].map((port) => ({ name: `p${port}`, port })),
        }),
      );
      await cluster.untilReady("default", "all");
      const kubeconfig = await cluster.writeKubeconfig();
      await home.configure(`
transports: { lab: { kubernetes: { kubeconfig: ${kubeconfig}, halfClose: ${halfClose} } } }
routes: [{ to: .svc, via: lab }]
`);
      await using instance = await home.instance();
      await kube.begins(instance, "http://all.default.svc/", "web");
      const target = "all.default.svc";
      if (halfClose === "pass") {
        await t.step(
          "early bytes, and a response after the client's half-close",
          async () => {
            using client = await connected(instance, `${target}:1`, "x".repeat(200));
            await client.end();
            assert.equal(await client.restText(), "got 200");
          },
        );
      } else {
        await t.step("a response that is later than the runtime's timeout", async () => {
          using client = await connected(instance, `${target}:3`, "question\n");
          await client.end();
          assert.equal(await client.restText(), "answer\n");
        });
      }
      await t.step("large data in both directions", async () => {
        using client = await connected(instance, `${target}:2`);
        const bytes = patternBytes(4 << 20, 3);
        const [, back] = await Promise.all([client.send(bytes), client.take(bytes.length)]);
        assert.ok(back.every((byte, at) => byte === bytes[at]));
      });
      await t.step("200 at once, none lost, few connections", async () => {
        const before = (await cluster.forwards()).sessions;
        const bodies = await Promise.all(
          Array.from({ length: 200 }, async () => {
            using client = await connected(instance, `${target}:80`, "GET / HTTP/1.0\r\n\r\n");
            return (await client.restText()).split("\r\n\r\n")[1];
          }),
        );
        assert.deepEqual(new Set(bodies), new Set(["web"]));
        const { sessions, openSessions } = await cluster.forwards();
        assert.ok(openSessions <= 4, `${openSessions} sessions`);
        assert.ok(sessions - before <= 4, `${sessions - before} sessions more`);
      });
    },
  );
}

import assert from "node:assert/strict";
import { KubeHome } from "../support/kube_instance.ts";
import { pod, service } from "../support/kube_objects.ts";
import { eventuallyInCluster, startServer } from "../support/kube_processes.ts";
import { patternBytes } from "../support/pattern_bytes.ts";
import { runPeer } from "../support/peer_program.ts";
import { peerTest } from "../support/peers.ts";
import { throughSocks5 } from "../support/raw_client.ts";
import { copyBetween, TargetServer } from "../support/target_server.ts";

// A client other than a browser: redis-cli and a real Redis in a pod. redis-cli has no proxy support, so the
// test provides a port that speaks SOCKS to the instance.

peerTest(
  "redis-cli talks to a Redis in a pod",
  ["kubernetes", "curl", "redis_server", "redis_cli"],
  async (peers, t) => {
    await using kube = await KubeHome.open(peers);
    const { cluster, home } = kube;
    await using redis = await startServer(peers.redis_server, (port) => [
      ...["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--dir", cluster.directory],
    ]);
    await cluster.apply(
      pod({ name: "redis-0", labels: { app: "redis" }, targets: { 6379: redis.address } }),
      service({ name: "redis", selector: { app: "redis" }, ports: [{ name: "redis", port: 6379 }] }),
    );
    await cluster.untilReady("default", "redis");
    await using instance = await home.instance([
      "--kubernetes",
      "--kubeconfig",
      await cluster.writeKubeconfig(),
    ]);
    await using port = new TargetServer(async (client) => {
      using redis = await throughSocks5(await instance.address(), { host: "redis.default.svc", port: 6379 });
      await copyBetween(client, redis);
    });
    const cli = async (args: readonly string[], stdin: string | Uint8Array<ArrayBuffer> = "") => {
      const ended = await runPeer(peers.redis_cli, ["-h", "127.0.0.1", "-p", String(port.port), ...args], {
        stdin,
      });
      assert.equal(ended.code, 0, ended.stderr + instance.stderr);
      return ended.stdout;
    };
    {
      // If the program cannot reach the cluster, fail here and not in each of the steps.
      using first = await throughSocks5(await instance.address(), { host: "redis", port: 6379 });
      await first.send("PING\r\n");
      assert.equal(await first.takeUntil("\r\n"), "+PONG\r\n");
    }
    await t.step("a request and its response", async () => {
      assert.equal(await cli(["set", "colour", "blue"]), "OK\n");
      assert.equal(await cli(["get", "colour"]), "blue\n");
    });
    await t.step("a value of a megabyte, byte for byte", async () => {
      const bytes = patternBytes(1 << 20, 7);
      assert.equal(await cli(["-x", "set", "big"], bytes), "OK\n");
      assert.equal(await cli(["strlen", "big"]), `${bytes.length}\n`);
      using straight = await throughSocks5(await instance.address(), { host: "redis", port: 6379 });
      await straight.send("GET big\r\n");
      assert.equal(await straight.takeUntil("\r\n"), `$${bytes.length}\r\n`);
      const back = await straight.take(bytes.length);
      assert.ok(back.every((byte, at) => byte === bytes[at]));
    });
    await t.step("many requests at once over one connection", async () => {
      const commands = Array.from({ length: 2000 }, (_, at) => `SET key-${at} ${at}\r\n`).join("");
      assert.match(await cli(["--pipe"], commands), /errors: 0, replies: 2000\n$/);
    });
    await t.step("a subscriber gets a published message", async () => {
      using listens = await throughSocks5(await instance.address(), { host: "redis", port: 6379 });
      await listens.send("SUBSCRIBE news\r\n");
      await listens.takeUntil(":1\r\n");
      assert.equal(await cli(["publish", "news", "hello"]), "1\n");
      assert.match(await listens.takeUntil("hello\r\n"), /message/);
    });
    await t.step("no connection is left open in the pod", async () => {
      await eventuallyInCluster("all forwards have ended", async () => {
        return (await cluster.forwards()).openStreams === 0;
      });
    });
  },
);

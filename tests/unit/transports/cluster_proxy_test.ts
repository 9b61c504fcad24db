import assert from "node:assert/strict";
import type { KubeApi } from "../../../src/kube/mod.ts";
import { PosternError } from "../../../src/words/mod.ts";
import { ClusterProxy } from "../../../src/transports/mod.ts";
import { type FakeAnswer, type FakeRequest, FakeWatch } from "../../support/fake_kube_api.ts";
import { bookmark, event } from "../../support/kube_answers.ts";
import { kubeWorld } from "../../support/kube_world.ts";
import { MemoryFiles } from "../../support/memory_files.ts";
import { MemoryNetwork } from "../../support/memory_network.ts";
import { WebServer } from "../../support/web_server.ts";
import type { FakeClock } from "../../support/fake_clock.ts";

const { signal } = new AbortController();
const target = { host: "web.example.net", port: 443 };

function proxyOf(api: () => KubeApi, clock: FakeClock): { proxy: ClusterProxy; dialled: string[] } {
  const dialled: string[] = [];
  const proxy = new ClusterProxy({
    name: "out",
    clock,
    files: new MemoryFiles(),
    network: new MemoryNetwork(),
    dialer: ({ host, port }) => {
      dialled.push(`${host}:${port}`);
      return Promise.reject(new PosternError("unreachable", "No connection"));
    },
    api: () => Promise.resolve(api()),
  });
  return { proxy, dialled };
}

/** The accepted proxy of a cluster, as its watch starts. */
function accepted(host: string): FakeWatch {
  const status = { httpsProxy: `http://${host}:3128` };
  const object = { metadata: { name: "cluster", resourceVersion: "5" }, status };
  return new FakeWatch(event("ADDED", object), bookmark(6, true));
}

function answerOf(host: string): (request: FakeRequest) => FakeAnswer {
  return ({ path }) => path.endsWith("/proxies") ? accepted(host) : new FakeWatch(bookmark(6, true));
}

Deno.test("ClusterProxy leaves no watch behind when it lacks a permission", async () => {
  await using world = await kubeWorld({
    answer: ({ path }) =>
      path.endsWith("/proxies") ? accepted("proxy.example.net") : { status: 403, body: { message: "no" } },
  });
  const { proxy } = proxyOf(() => world.client, world.clock);
  await using _ = proxy;
  for (let times = 0; times < 5; times++) {
    await assert.rejects(proxy.dial(target, { signal }), { code: "not_allowed" });
    await world.clock.advance(10);
  }
  assert.ok(world.api.open <= 2, `${world.api.open} connections to the API server`);
});

Deno.test("ClusterProxy rejects dials after its disposal, used before or not", async () => {
  await using world = await kubeWorld({ answer: answerOf("proxy.example.net") });
  for (const isUsed of [false, true]) {
    const { proxy, dialled } = proxyOf(() => world.client, world.clock);
    if (isUsed) await assert.rejects(proxy.dial(target, { signal }), { code: "unreachable" });
    await proxy[Symbol.asyncDispose]();
    await assert.rejects(proxy.dial(target, { signal }), { code: "cancelled" });
    assert.equal(dialled.length, Number(isUsed));
  }
});

Deno.test("ClusterProxy follows its cluster to another API", async () => {
  const former = await kubeWorld({ answer: answerOf("old.example.net") });
  await using world = await kubeWorld({ answer: answerOf("new.example.net") });
  let api: KubeApi = former.client;
  const { proxy, dialled } = proxyOf(() => api, world.clock);
  await using _ = proxy;
  await assert.rejects(proxy.dial(target, { signal }), { code: "unreachable" });
  // The kubeconfig has changed: the watch of the old cluster ends.
  api = world.client;
  await former[Symbol.asyncDispose]();
  await assert.rejects(proxy.dial(target, { signal }), { code: "unreachable" });
  assert.deepEqual(dialled, ["old.example.net:3128", "new.example.net:3128"]);
});

Deno.test("ClusterProxy sends a password without a user, as the cluster's own programs do", async () => {
  const network = new MemoryNetwork();
  const refusing = () => ({ status: 403 });
  await using server = new WebServer(network.listen({ host: "192.0.2.1", port: 3128 }), refusing);
  await using world = await kubeWorld({ answer: answerOf(":t0ken@192.0.2.1") });
  await using proxy = new ClusterProxy({
    name: "out",
    clock: world.clock,
    files: new MemoryFiles(),
    network,
    dialer: ({ host, port }, options) => network.connect({ host, port }, options),
    api: () => Promise.resolve(world.client),
  });
  await assert.rejects(proxy.dial(target, { signal }), { code: "not_allowed" });
  assert.equal(server.requests[0]?.fields.get("proxy-authorization"), `Basic ${btoa(":t0ken")}`);
});

Deno.test("ClusterProxy fails when its proxy fails", async () => {
  await using world = await kubeWorld({ answer: answerOf("proxy.example.net") });
  const { proxy } = proxyOf(() => world.client, world.clock);
  await using _ = proxy;
  assert.deepEqual(proxy.status(), { state: "idle" });
  await assert.rejects(proxy.dial(target, { signal }), { code: "unreachable" });
  const { state, lastError = "", proxy: place } = proxy.status();
  assert.deepEqual([state, place], ["failing", "proxy.example.net:3128"]);
  assert.match(lastError, /^Cannot reach the proxy "out" \(proxy\.example\.net:3128\): No connection/);
});

Deno.test("ClusterProxy fails when the accepted proxy is invalid", async () => {
  const object = {
    metadata: { name: "cluster", resourceVersion: "5" },
    status: { httpsProxy: "gopher://secret@example.net" },
  };
  await using world = await kubeWorld({
    answer: ({ path }) =>
      path.endsWith("/proxies")
        ? new FakeWatch(event("ADDED", object), bookmark(6, true))
        : new FakeWatch(bookmark(6, true)),
  });
  const { proxy } = proxyOf(() => world.client, world.clock);
  await using _ = proxy;
  await assert.rejects(proxy.dial(target, { signal }), { code: "config" });
  const { state, lastError = "" } = proxy.status();
  assert.equal(state, "failing");
  assert.match(lastError, /status\.httpsProxy/);
  assert.doesNotMatch(lastError, /secret/);
});

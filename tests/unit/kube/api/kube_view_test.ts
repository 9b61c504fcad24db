import assert from "node:assert/strict";
import { KubeView } from "../../../../src/kube/api/kube_view.ts";
import type { PosternError } from "../../../../src/words/mod.ts";
import { settle } from "../../../support/fake_clock.ts";
import { type FakeAnswer, type FakeRequest, FakeWatch } from "../../../support/fake_kube_api.ts";
import { bookmark, event, listed, onlyServices, service } from "../../../support/kube_answers.ts";
import { kubeWorld } from "../../../support/kube_world.ts";

const { signal } = new AbortController();

async function viewOf(answer: (request: FakeRequest) => FakeAnswer | Promise<FakeAnswer>) {
  const world = await kubeWorld({ answer });
  const view = new KubeView({ api: world.client, clock: world.clock, random: () => 0.5 });
  /** Advances the clock until a condition holds. */
  const until = async (isSo: () => boolean) => {
    for (let times = 0; times < 400 && !isSo(); times++) await world.clock.advance(50);
    assert.ok(isSo(), `never: ${isSo}`);
  };
  const dispose = async () => {
    await view[Symbol.asyncDispose]();
    await world[Symbol.asyncDispose]();
  };
  return { ...world, view, until, [Symbol.asyncDispose]: dispose };
}

const names = (view: KubeView) => [...view.services("shop")].map(({ name }) => name).join(" ");

Deno.test("KubeView holds a namespace with WatchLists and answers from memory", async () => {
  const watch = listed(9, service("web", 8));
  await using world = await viewOf(onlyServices(() => watch));
  const { view, api } = world;
  assert.equal(view.isReady("shop"), false);
  await view.ready("shop", { signal });
  assert.equal(view.isReady("shop"), true);
  assert.equal(view.service("shop", "web")?.ports[0]?.targetPort, "http");
  assert.equal(view.byClusterIp("10.96.0.8")?.name, "web");
  const { query } = api.requests[0] ?? assert.fail();
  assert.equal(query.get("sendInitialEvents"), "true");
  let told = 0;
  using _ear = view.onChange(() => told++);
  watch.say(event("ADDED", service("db", 10)), event("DELETED", service("web", 11)));
  await world.until(() => told > 0);
  assert.equal(names(view), "db");
  assert.equal(view.byClusterIp("10.96.0.8"), undefined);
  await view.ready("shop", { signal });
  assert.equal(api.requests.length, 2);
});

Deno.test("KubeView lists in pages if the server does not support WatchList", async () => {
  const watch = new FakeWatch();
  await using world = await viewOf(onlyServices(({ query }) => {
    if (query.has("sendInitialEvents")) return { status: 422, body: { message: "forbidden" } };
    if (query.has("watch")) return watch;
    const isFirst = !query.has("continue");
    return {
      status: 200,
      body: isFirst
        ? { metadata: { resourceVersion: "5", continue: "more" }, items: [service("a", 1)] }
        : { metadata: { resourceVersion: "5" }, items: [service("b", 2)] },
    };
  }));
  await world.view.ready("shop", { signal });
  assert.equal(names(world.view), "a b");
  await world.until(() => world.api.requests.some(({ query }) => query.get("resourceVersion") === "5"));
  assert.equal(world.api.requests.find(({ query }) => query.has("limit"))?.query.get("limit"), "500");
});

Deno.test("KubeView lists in pages if a WatchList does not complete", async () => {
  await using world = await viewOf(onlyServices(({ query }) => {
    if (query.has("sendInitialEvents")) return new FakeWatch(event("ADDED", service("a", 1)));
    if (query.has("watch")) return new FakeWatch();
    return { status: 200, body: { metadata: { resourceVersion: "5" }, items: [service("b", 2)] } };
  }));
  const ready = world.view.ready("shop", { signal });
  await world.until(() => world.view.isReady("shop"));
  await ready;
  assert.equal(names(world.view), "b");
});

Deno.test("KubeView resumes where the watch ended, and keeps its objects meanwhile", async () => {
  const first = listed(9, service("web", 8));
  const second = new FakeWatch();
  await using world = await viewOf(
    onlyServices(({ query }) => query.has("sendInitialEvents") ? first : second),
  );
  const { view, api } = world;
  await view.ready("shop", { signal });
  first.say(bookmark(12));
  first.end();
  await world.until(() => api.requests.length === 3);
  assert.equal(api.requests[2]?.query.get("resourceVersion"), "12");
  assert.equal(names(view), "web");
  second.say(event("ADDED", service("db", 13)));
  await world.until(() => names(view) === "web db");
});

for (const how of ["cut", "silent"] as const) {
  Deno.test(`KubeView resumes a watch that is ${how}`, async () => {
    const first = listed(9, service("web", 8));
    const second = new FakeWatch();
    await using world = await viewOf(
      onlyServices(({ query }) => query.has("sendInitialEvents") ? first : second),
    );
    const { view, api, clock } = world;
    await view.ready("shop", { signal });
    if (how === "cut") first.cut();
    else await clock.advance(90_000);
    await world.until(() => api.requests.some(({ query }) => query.get("resourceVersion") === "9"));
    assert.equal(names(view), "web");
    second.say(event("ADDED", service("db", 13)));
    await world.until(() => names(view) === "web db");
    assert.equal(view.status().watches[0]?.relists, 0);
  });
}

for (const how of ["as an event", "as a status"] as const) {
  Deno.test(`KubeView lists again when the server has forgotten the version, ${how}`, async () => {
    const watches = [listed(9, service("web", 8), service("old", 7)), listed(50, service("web", 48))];
    await using world = await viewOf(onlyServices(({ query }) => {
      if (query.has("sendInitialEvents")) return watches.shift() ?? "silent";
      return how === "as a status" ? { status: 410 } : new FakeWatch(event("ERROR", { code: 410 }));
    }));
    const { view } = world;
    await view.ready("shop", { signal });
    const [first] = [view.service("shop", "old")];
    assert.ok(first);
    world.api.requests.find(({ query }) => query.has("sendInitialEvents"));
    // The first watch reaches its time limit.
    view.check();
    await world.until(() => names(view) === "web");
    assert.equal(view.status().watches[0]?.relists, 1);
    assert.equal(view.isReady("shop"), true);
  });
}

Deno.test("KubeView pauses before it lists again if the server rejects every version at once", async () => {
  const watches = [listed(9, service("web", 8))];
  await using world = await viewOf(onlyServices(({ query }) => {
    if (!query.has("sendInitialEvents")) return { status: 410 };
    return watches.shift() ?? new FakeWatch(event("ERROR", { code: 410 }));
  }));
  const { view, api } = world;
  await view.ready("shop", { signal });
  view.check();
  await world.until(() => (view.status().watches[0]?.relists ?? 0) > 0);
  const before = api.requests.length;
  for (let turn = 0; turn < 200; turn++) await settle();
  assert.ok(api.requests.length <= before + 1, `${api.requests.length - before} requests in no time`);
  assert.equal(names(view), "web");
});

Deno.test("KubeView ignores repeated and late events", async () => {
  const watch = listed(9, service("web", 8));
  await using world = await viewOf(onlyServices(() => watch));
  const { view } = world;
  await view.ready("shop", { signal });
  watch.say(
    event("MODIFIED", service("web", 20, { clusterIP: "10.96.1.1", clusterIPs: ["10.96.1.1", "FD00::0:1"] })),
    event("MODIFIED", service("web", 15)),
    event("ADDED", service("web", 8)),
    event("ADDED", service("end", 21)),
  );
  await world.until(() => names(view) === "web end");
  assert.deepEqual(view.service("shop", "web")?.clusterIps, ["10.96.1.1", "fd00::1"]);
  assert.equal(view.byClusterIp("fd00:0::1")?.name, "web");
  assert.equal(view.byClusterIp("10.96.0.8"), undefined);
});

Deno.test("KubeView reads a watch that arrives byte by byte", async () => {
  const watch = listed(9, service("wéb", 8));
  await using world = await viewOf(onlyServices(() => watch));
  world.api.pieces = 1;
  await world.view.ready("shop", { signal });
  assert.equal(names(world.view), "wéb");
});

const forbidden = (where: string) => ({
  status: 403,
  body: {
    message: `services is forbidden: User "bob" cannot watch resource "services" in API group "" ${where}`,
  },
});

Deno.test("KubeView names the missing right, and allowed namespaces still work", async () => {
  await using world = await viewOf(({ path }) =>
    path.includes("/namespaces/shop/") ? listed(9, service("web", 8)) : forbidden("at the cluster scope")
  );
  const { view } = world;
  const refused = (error: PosternError) => {
    assert.equal(error.code, "not_allowed");
    assert.match(error.message, /"bob" may not watch services in all namespaces$/);
    assert.match(error.hint ?? "", /resources: \["services"\], verbs: \["list", "watch"\]/);
    return true;
  };
  await assert.rejects(view.ready(undefined, { signal }), refused);
  await view.ready("shop", { signal });
  assert.equal(view.byClusterIp("10.96.0.8")?.name, "web");
  assert.equal(view.isReady(undefined), false);
  assert.equal(view.status().watches.find(({ namespace }) => namespace === "*")?.state, "failing");
});

Deno.test("KubeView retries a forbidden namespace at most once a second", async () => {
  await using world = await viewOf(() => forbidden('in the namespace "shop"'));
  const { view, api, clock } = world;
  for (let times = 0; times < 10; times++) await assert.rejects(view.ready("shop", { signal }));
  assert.equal(api.requests.length, 2);
  await clock.advance(1000);
  await assert.rejects(view.ready("shop", { signal }));
  assert.equal(api.requests.length, 4);
});

Deno.test("KubeView names the pod request whose response is not JSON", async () => {
  await using world = await viewOf(() => ({ status: 200, body: "<html>Sign in to the network</html>" }));
  const { view } = world;
  const questions = [
    () => view.podByName("shop", "web-1", { signal }),
    () => view.podByIp("10.1.2.3", { signal }),
  ];
  for (const ask of questions) {
    await assert.rejects(ask(), (error: PosternError) => {
      assert.equal(error.code, "protocol");
      assert.match(error.message, /^Cannot (read|list) .* of the cluster "lab": the response is not JSON$/);
      return true;
    });
  }
});

Deno.test("KubeView retries a failing server three times before it fails", async () => {
  await using world = await viewOf(() => ({ status: 500, body: { message: "etcd is away" } }));
  const ready = assert.rejects(world.view.ready("shop", { signal }), (error: PosternError) => {
    assert.equal(error.code, "unreachable");
    assert.match(error.message, /etcd is away/);
    return true;
  });
  for (let times = 0; times < 40; times++) await world.clock.advance(100);
  await ready;
  assert.equal(world.api.asked.filter((line) => line.endsWith("/services")).length, 3);
});

Deno.test("KubeView waits as long as an overloaded server requests", async () => {
  let times = 0;
  await using world = await viewOf(
    onlyServices(() =>
      times++ === 0 ? { status: 429, fields: [["Retry-After", "5"]] } : listed(9, service("web", 8))
    ),
  );
  const ready = world.view.ready("shop", { signal });
  await world.until(() => times === 1);
  for (let times = 0; times < 80; times++) await world.clock.advance(50);
  assert.equal(times, 1);
  await world.until(() => times === 2);
  await ready;
  assert.equal(names(world.view), "web");
});

Deno.test("KubeView times out for a server that never answers, and throws the caller's reason before that", async () => {
  await using world = await viewOf(() => "silent");
  const stop = new AbortController();
  const given = world.view.ready("shop", { signal: stop.signal });
  await settle();
  const reason = new Error("enough");
  stop.abort(reason);
  await assert.rejects(given, reason);
  const ready = assert.rejects(world.view.ready("shop", { signal }), (error: PosternError) => {
    assert.equal(error.code, "timeout");
    return true;
  });
  await world.clock.advance(20_000);
  await ready;
});

Deno.test("KubeView replaces many namespace watches by one watch of the whole cluster", async () => {
  await using world = await viewOf(({ path }) =>
    path.startsWith("/api/v1/services")
      ? listed(9, service("everywhere", 8))
      : path.includes("/services")
      ? listed(5)
      : listed(1)
  );
  const { view } = world;
  for (let number = 0; number < 9; number++) await view.ready(`n${number}`, { signal });
  await world.until(() => view.status().watches.length === 2);
  assert.deepEqual(view.status().watches.map(({ namespace }) => namespace), ["*", "*"]);
  assert.equal(names(view), "everywhere");
  await view.ready("anything", { signal });
  await world.until(() => world.api.open === 2);
});

Deno.test("KubeView keeps namespace watches if the whole cluster is forbidden", async () => {
  await using world = await viewOf(({ path }) =>
    path.includes("/namespaces/") ? listed(5) : forbidden("at the cluster scope")
  );
  const { view, api } = world;
  for (let number = 0; number < 20; number++) await view.ready(`n${number}`, { signal });
  await settle();
  assert.ok(view.isReady("n0") && view.isReady("n19"));
  assert.equal(api.asked.filter((line) => line === "GET /api/v1/services").length, 1);
});

Deno.test("KubeView stops watching a namespace that was not used for half an hour", async () => {
  // The server sends an event now and then, so that its watches stay alive.
  const watches: FakeWatch[] = [];
  await using world = await viewOf(() => {
    const watch = listed(9, service("web", 8));
    watches.push(watch);
    return watch;
  });
  const { view, clock } = world;
  await view.ready("shop", { signal });
  for (let minute = 0; minute < 29; minute++) {
    for (const watch of watches) watch.say(bookmark(10 + minute));
    await clock.advance(60_000);
  }
  assert.equal(view.isReady("shop"), true);
  assert.equal(names(view), "web");
  for (let minute = 0; minute < 32; minute++) {
    for (const watch of watches) watch.say(bookmark(100 + minute));
    await clock.advance(60_000);
  }
  assert.equal(view.isReady("shop"), false);
  assert.equal(world.api.open, 0);
});

const pod = (name: string, more: Readonly<Record<string, unknown>> = {}) => ({
  metadata: { namespace: "shop", name },
  spec: { containers: [{ ports: [{ name: "http", containerPort: 8080 }] }], ...more },
  status: {
    phase: "Running",
    podIP: "10.244.0.7",
    podIPs: [{ ip: "10.244.0.7" }, { ip: "FD00::7" }],
    conditions: [{ type: "Ready", status: "True" }],
  },
});

Deno.test("KubeView reads a pod by name once for all callers, and keeps the answer for 5 s", async () => {
  await using world = await viewOf(({ path }) =>
    path.endsWith("/web-0") ? { status: 200, body: pod("web-0") } : { status: 404 }
  );
  const { view, api, clock } = world;
  const [one, two] = await Promise.all([
    view.podByName("shop", "web-0", { signal }),
    view.podByName("shop", "web-0", { signal }),
  ]);
  assert.deepEqual(one, two);
  assert.deepEqual(one, {
    namespace: "shop",
    name: "web-0",
    phase: "Running",
    isReady: true,
    isTerminating: false,
    isHostNetwork: false,
    ips: ["10.244.0.7", "fd00::7"],
    ports: [{ name: "http", protocol: "TCP", port: 8080 }],
  });
  assert.equal(await view.podByName("shop", "none", { signal }), undefined);
  assert.equal(await view.podByName("shop", "none", { signal }), undefined);
  assert.equal(api.requests.length, 2);
  await view.podByName("shop", "web-0", { signal, isFresh: true });
  assert.equal(api.requests.length, 3);
  await clock.advance(5000);
  await view.podByName("shop", "web-0", { signal });
  assert.equal(api.requests.length, 4);
});

Deno.test("KubeView finds running pods by address in single namespaces without the right for the whole cluster", async () => {
  const dead = { ...pod("dead"), status: { phase: "Succeeded" } };
  await using world = await viewOf(({ path, query }) => {
    assert.equal(query.get("fieldSelector"), "status.podIP=10.244.0.7");
    if (path === "/api/v1/pods") return { status: 403, body: "no" };
    return path.includes("/shop/") ? { status: 200, body: { items: [dead, pod("web-0")] } } : { status: 403 };
  });
  const found = await world.view.podByIp("10.244.0.7", { signal, namespaces: ["other", "shop"] });
  assert.deepEqual(found.map(({ name }) => name), ["web-0"]);
  await assert.rejects(world.view.podByIp("10.244.0.7", { signal }), (error: PosternError) => {
    assert.equal(error.code, "not_allowed");
    return true;
  });
});

import assert from "node:assert/strict";
import { ClusterTables } from "../../../../src/plan/clusters/cluster_tables.ts";
import { Surroundings } from "../../../../src/plan/clusters/surroundings.ts";
import { type ErrorCode, parseIp, PosternError } from "../../../../src/words/mod.ts";
import { type FarDomain, type FarTable, type FarTables, unlessAborted } from "../../../../src/core/mod.ts";
import { parseRouteLines, type Route, Router } from "../../../../src/routing/mod.ts";
import { FakeClock, settle } from "../../../support/fake_clock.ts";
import { MemoryFiles } from "../../../support/memory_files.ts";
import { recordingLog } from "../../../support/recording_log.ts";

const { signal } = new AbortController();

/** A cluster whose table arrives when a test says so. */
class LateTable implements FarTables {
  current: FarTable | undefined;
  domain: FarDomain | undefined;
  server: string | undefined;
  signingInWith: string | undefined;
  isRecalled = false;
  recalled = 0;
  asked = 0;
  signIns = 0;
  #answer = Promise.withResolvers<void>();
  #changed = () => {};

  recall(): Promise<void> {
    this.recalled++;
    this.isRecalled = true;
    return Promise.resolve();
  }

  follow({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    this.asked++;
    return unlessAborted(this.#answer.promise, signal);
  }

  allowSignIn(): void {
    this.signIns++;
  }

  onChange(changed: () => void): Disposable {
    this.#changed = changed;
    return { [Symbol.dispose]() {} };
  }

  has(...services: string[]): void {
    this.current = { services: new Set(services), addresses: new Set(["10.96.0.7"]) };
    this.learned(...services);
    this.#answer.resolve();
  }

  learned(...services: string[]): void {
    this.domain = {
      networks: [{ bytes: parseIp("10.96.0.0") ?? new Uint8Array(), bits: 16, holds: "Services" }],
      addresses: new Set(),
      knowsServiceNetwork: true,
      namespaces: new Set(["shop-eu"]),
      services: new Set(services),
    };
    this.#changed();
  }

  knows(namespace: string): void {
    if (!this.domain) return;
    this.domain = { ...this.domain, namespaces: new Set([...this.domain.namespaces, namespace]) };
    this.#changed();
  }

  fails(error: PosternError): void {
    const answer = this.#answer;
    this.#answer = Promise.withResolvers();
    answer.promise.catch(() => {});
    answer.reject(error);
  }
}

interface Options {
  readonly lines?: string;
  readonly guards?: boolean;
}

function parts({ lines = "<services> lab\n<clusterips> lab\n", guards = true }: Options = {}) {
  const table = new LateTable();
  const clock = new FakeClock();
  const log = recordingLog();
  const { rules } = parseRouteLines(lines, { name: "list" });
  let router = new Router({ rules, fallback: "direct" });
  const files = new MemoryFiles();
  const here = new Surroundings({
    isNamed: () => false,
    files,
    network: { attached: () => [{ name: "eth0", address: "192.168.7.7", bits: 24 }] },
    process: { hostName: "desk.example.net", platform: "linux" },
    places: {},
    now: () => clock.now(),
  });
  const changed = (...state: Parameters<Router["withTables"]>) => router = router.withTables(...state);
  const tables = new ClusterTables({ clock, log, here, changed });
  const follow = (clusters: Readonly<Record<string, LateTable>>) => {
    const byName = new Map(
      Object.entries(clusters).map(([name, tables]) => {
        const transport = { name, tables } as never;
        return [name, { name, type: "kubernetes", settings: {}, transport }];
      }),
    );
    router = tables.follow(router, { byName }, { guards });
  };
  follow({ lab: table });
  const asked = (host: string, stop = signal) =>
    tables.route({ host, port: 80 }, () => router, { signal: stop });
  /** The current state of a route, `waiting` while it waits. */
  const begin = (host: string, stop = signal) => {
    const state: { way: string; route?: Route } = { way: "waiting" };
    const done = asked(host, stop).then((route) => {
      state.route = route;
      state.way = route.held ? "held" : route.transport;
    });
    return Object.assign(state, { done });
  };
  const refusal = (route: Route | undefined, host: string) => {
    assert.ok(route?.held);
    return tables.refusal({ host, port: 80 }, route.held);
  };
  return { table, clock, log, tables, follow, asked, begin, refusal, files };
}

Deno.test("ClusterTables reads stored facts immediately, and queries no cluster before a target needs it", async () => {
  const { table, tables, asked } = parts();
  await using _tables = tables;
  assert.equal((await asked("www.example.com")).transport, "direct");
  assert.deepEqual([table.recalled, table.asked], [1, 0]);
});

Deno.test("ClusterTables routes nothing before the stored facts were read", async () => {
  const { table, tables, begin, follow } = parts();
  await using _tables = tables;
  const slow = Object.assign(new LateTable(), { recall: () => recalled.promise });
  const recalled = Promise.withResolvers<void>();
  follow({ lab: slow });
  const pod = begin("web-0.web.shop-eu");
  await settle();
  assert.equal(pod.way, "waiting");
  slow.isRecalled = true;
  slow.learned("web.shop-eu");
  recalled.resolve();
  await settle();
  assert.deepEqual([pod.way, slow.asked, table.asked], ["waiting", 1, 0]);
  slow.has("web.shop-eu");
  await pod.done;
  assert.equal(pod.way, "held");
});

Deno.test("ClusterTables lets a target wait during a query, and then follows the table", async () => {
  const { table, tables, clock, begin } = parts();
  await using _tables = tables;
  const targets = ["web.shop", "10.96.0.7", "10.96.0.8", "gone.shop-eu", "github.io"].map((host) =>
    begin(host)
  );
  await settle();
  await clock.advance(15_000);
  assert.deepEqual(targets.map(({ way }) => way), targets.map(() => "waiting"));
  table.has("web.shop");
  await Promise.all(targets.map(({ done }) => done));
  assert.deepEqual(targets.map(({ way }) => way), ["lab", "lab", "held", "held", "direct"]);
  assert.equal(table.asked, 1);
});

Deno.test("ClusterTables rejects a waiting target after the timeout, and reports that no answer came", async () => {
  const { tables, begin, refusal } = parts();
  await using _tables = tables;
  const deadline = new AbortController();
  const web = begin("web.shop", deadline.signal);
  await settle();
  deadline.abort();
  await web.done;
  const { code, message, hint } = refusal(web.route, "web.shop");
  assert.equal(code, "timeout");
  assert.match(
    message,
    /^Cannot reach web\.shop:80: the target may belong to the cluster of "lab", which has not answered/,
  );
  assert.match(hint ?? "", /direct: \["web\.shop"\]/);
});

const failures: readonly { code: ErrorCode; message: string; says: RegExp }[] = [
  {
    code: "auth",
    message: 'Cannot sign in to the cluster "lab": its API server returned 401',
    says: /: its API server returned 401$/,
  },
  {
    code: "not_allowed",
    message: 'Cannot list services of the cluster "lab": "dev" may not list services',
    says: /: "dev" may not list services$/,
  },
  {
    code: "unreachable",
    message: 'Cannot reach the API server of "lab" (127.0.0.1:1): connection refused',
    says: /unknown: cannot reach the API server of "lab" \(127\.0\.0\.1:1\): connection refused$/,
  },
  {
    code: "unreachable",
    message: "Cannot reach 127.0.0.1:6443: connection refused",
    says: /: cannot reach 127\.0\.0\.1:6443: connection refused$/,
  },
];

for (const { code, message, says } of failures) {
  Deno.test(`ClusterTables rejects immediately with the cluster's reason: ${code}`, async () => {
    const { table, tables, begin, refusal, log } = parts();
    await using _tables = tables;
    const web = begin("web.shop");
    await settle();
    table.fails(new PosternError(code, message, { hint: "do this" }));
    await web.done;
    const error = refusal(web.route, "web.shop");
    assert.equal(error.code, code);
    assert.match(error.message, says);
    assert.match(error.hint ?? "", /^do this; .*direct: \["web\.shop"\]/);
    const again = begin("10.96.0.1");
    await again.done;
    assert.deepEqual([again.way, table.asked], ["held", 1]);
    assert.equal(log.lines.filter(({ event }) => event === "routes.no_table").length, 1);
  });
}

Deno.test("ClusterTables retries a failed cluster less and less often, while targets need it", async () => {
  const { table, tables, clock, begin, log } = parts();
  await using _tables = tables;
  const failure = () => table.fails(new PosternError("unreachable", "Cannot reach lab"));
  const web = begin("web.shop");
  await settle();
  failure();
  await web.done;
  const asked: number[] = [];
  for (const pause of [5, 10, 20, 40, 60, 60]) {
    await clock.advance(pause * 1000 - 1);
    asked.push(table.asked);
    await clock.advance(1);
    failure();
    await settle();
  }
  assert.deepEqual(asked, [1, 2, 3, 4, 5, 6]);
  // The reason is logged once.
  assert.equal(log.lines.filter(({ event }) => event === "routes.no_table").length, 1);
  for (let minute = 0; minute < 12; minute++) {
    await clock.advance(60_000);
    failure();
    await settle();
  }
  const rested = table.asked;
  await clock.advance(3_600_000);
  assert.equal(table.asked, rested);
  const late = begin("web.shop");
  await settle();
  table.has("web.shop");
  await late.done;
  assert.equal(late.way, "lab");
});

Deno.test("ClusterTables keeps a known table after a failure, and holds back targets that are not in it", async () => {
  const { table, tables, begin, refusal } = parts();
  await using _tables = tables;
  table.has("web.shop-eu");
  const [web, gone, address, pod] = ["web.shop-eu", "gone.shop-eu", "10.96.3.3", "web-0.web.shop-eu"].map((
    host,
  ) => begin(host));
  await settle();
  assert.deepEqual([web, gone, address, pod].map((one) => one?.way), ["lab", "held", "held", "held"]);
  const says = (one: typeof web, host: string) => {
    const { code, message } = refusal(one?.route, host);
    assert.equal(code, "name_not_found");
    return message;
  };
  assert.equal(
    says(gone, "gone.shop-eu"),
    'Cannot reach gone.shop-eu:80: "lab" has no Service gone in the namespace shop-eu',
  );
  assert.match(
    says(address, "10.96.3.3"),
    /no Service of "lab" and no pod of its Services has this address$/,
  );
  assert.match(says(pod, "web-0.web.shop-eu"), /only as web-0\.web\.shop-eu\.svc$/);
});

Deno.test("ClusterTables retries a failed sign-in only for targets that surely belong to the cluster", async () => {
  const { table, tables, clock, begin } = parts();
  await using _tables = tables;
  table.learned("web.shop");
  const fail = () => table.fails(new PosternError("auth", "Cannot sign in", { detail: "sign_in" }));
  const many = Array.from({ length: 30 }, () => begin("web.shop"));
  await settle();
  fail();
  await Promise.all(many.map(({ done }) => done));
  assert.deepEqual([table.asked, table.signIns], [1, 0]);
  await clock.advance(5_000);
  fail();
  await settle();
  // Background work never opens a window.
  assert.deepEqual([table.asked, table.signIns], [2, 0]);
  begin("github.io");
  await settle();
  assert.equal(table.signIns, 0);
  const own = begin("web.shop");
  await settle();
  assert.equal(table.signIns, 1);
  await clock.advance(10_000);
  table.has("web.shop");
  await own.done;
});

Deno.test("ClusterTables releases this machine's names and attached networks", async () => {
  const { table, tables, begin, files } = parts();
  await using _tables = tables;
  await files.replace("/etc/hosts", "127.0.0.1 localhost\n10.1.2.3 db.dev printer # a remark\n");
  const own = ["desk", "db.dev", "PRINTER.", "192.168.7.99"].map((host) => begin(host));
  await settle();
  assert.deepEqual(own.map(({ way }) => way), ["direct", "direct", "direct", "direct"]);
  const others = ["remark", "192.168.8.1"].map((host) => begin(host));
  await settle();
  assert.deepEqual(others.map(({ way }) => way), ["waiting", "waiting"]);
  // Learned facts override the hosts file.
  table.has("db.dev");
  await Promise.all(others.map(({ done }) => done));
  const known = begin("db.dev");
  await known.done;
  assert.equal(known.way, "lab");
});

Deno.test("ClusterTables waits only for tables that can change a route, and only briefly", async () => {
  const { table, tables, clock, begin } = parts({
    lines: "=exact.shop corp\nshop corp\n<services> lab\n<clusterips> lab\n10.0.0.0/8 corp\n",
  });
  await using _tables = tables;
  const exact = begin("exact.shop");
  await settle();
  assert.deepEqual([exact.way, table.asked], ["corp", 0]);
  const suffix = ["web.shop", "10.1.2.3"].map((host) => begin(host));
  await settle();
  assert.deepEqual(suffix.map(({ way }) => way), ["waiting", "waiting"]);
  await clock.advance(6_000);
  await Promise.all(suffix.map(({ done }) => done));
  assert.deepEqual(suffix.map(({ way }) => way), ["corp", "corp"]);
});

Deno.test("ClusterTables does not wait for an unknown cluster when another one's table has the target", async () => {
  const { table, tables, follow, begin } = parts({
    lines: "<services> lab\n<clusterips> lab\n<services> prod\n<clusterips> prod\n",
  });
  await using _tables = tables;
  const prod = new LateTable();
  follow({ lab: table, prod });
  table.has("web.shop");
  const [web, other] = ["web.shop", "other.shop"].map((host) => begin(host));
  await settle();
  assert.deepEqual([web?.way, other?.way], ["lab", "waiting"]);
  prod.has("other.shop");
  await other?.done;
  assert.equal(other?.way, "prod");
});

Deno.test("ClusterTables waits for the new cluster after a reload during a wait", async () => {
  const { table, tables, follow, begin } = parts();
  await using _tables = tables;
  const web = begin("web.shop");
  await settle();
  const later = new LateTable();
  follow({ lab: later });
  table.has("web.shop");
  await settle();
  assert.deepEqual([web.way, later.asked], ["waiting", 1]);
  later.has("web.shop");
  await web.done;
  assert.equal(web.way, "lab");
});

Deno.test("ClusterTables guards nothing with unknown: direct, and still waits for useful tables", async () => {
  const { table, tables, clock, begin } = parts({ guards: false });
  await using _tables = tables;
  const first = begin("web.shop");
  await settle();
  table.fails(new PosternError("unreachable", "Cannot reach lab"));
  await first.done;
  assert.equal(first.way, "direct");
  await clock.advance(5_000);
  const late = begin("web.shop");
  await clock.advance(6_000);
  await late.done;
  assert.equal(late.way, "direct");
});

Deno.test("ClusterTables reports the state of each table", async () => {
  const { table, tables, begin } = parts();
  await using _tables = tables;
  assert.deepEqual([tables.state("lab"), tables.state("direct")], [{ state: "unknown" }, undefined]);
  const web = begin("web.shop");
  await settle();
  assert.deepEqual(tables.state("lab"), { state: "asking" });
  table.fails(new PosternError("auth", "Cannot sign in", { hint: "sign in" }));
  await web.done;
  assert.deepEqual(tables.state("lab"), { state: "unknown", reason: "Cannot sign in", hint: "sign in" });
  table.has("web.shop");
  assert.deepEqual(tables.state("lab"), { state: "known" });
});

Deno.test("ClusterTables waits for the owned networks when the table arrives slightly earlier", async () => {
  const { tables, begin, follow } = parts();
  await using _tables = tables;
  const { promise, resolve } = Promise.withResolvers<void>();
  const table = Object.assign(new LateTable(), { follow: () => promise });
  follow({ lab: table });
  const [served, missing] = [begin("web.shop-eu"), begin("web.stock")];
  await settle();
  table.current = { services: new Set(["web.shop-eu"]), addresses: new Set() };
  table.learned("web.shop-eu");
  await served.done;
  assert.deepEqual([served.way, missing.way], ["lab", "waiting"]);
  table.knows("stock");
  resolve();
  await missing.done;
  assert.equal(missing.way, "held");
});

Deno.test("ClusterTables logs a failed sign-in once, ignoring the age in its message", async () => {
  const { table, tables, begin, clock, log } = parts();
  await using _tables = tables;
  for (const ago of ["", " (5s ago)", " (15s ago)"]) {
    const held = begin("web.shop");
    await settle();
    table.fails(new PosternError("auth", `Cannot sign in: dismissed${ago}`, { detail: "sign_in" }));
    await held.done;
    await clock.advance(60_000);
  }
  assert.equal(log.lines.filter(({ event }) => event === "routes.no_table").length, 1);
});

Deno.test("ClusterTables releases the API server of a cluster that rejects us, unless the cluster owns its address", async () => {
  const { table, tables, begin } = parts();
  await using _tables = tables;
  table.server = "10.96.9.9";
  const [other, server] = [begin("10.96.9.8"), begin("10.96.9.9")];
  await settle();
  table.fails(new PosternError("auth", "Cannot sign in"));
  await Promise.all([other.done, server.done]);
  assert.deepEqual([other.way, server.way], ["held", "direct"]);
  table.learned("web.shop");
  const owned = begin("10.96.9.9");
  await owned.done;
  assert.equal(owned.way, "held");
});

Deno.test("ClusterTables reports the running sign-in to a client that waited in vain", async () => {
  const { table, tables, begin, refusal } = parts();
  await using _tables = tables;
  const stop = new AbortController();
  const held = begin("web.shop", stop.signal);
  await settle();
  table.signingInWith = "kubelogin";
  stop.abort();
  await held.done;
  const { code, message, hint } = refusal(held.route, "web.shop");
  assert.equal(code, "timeout");
  assert.match(message, /postern waits for the sign-in with "kubelogin"$/);
  assert.match(hint ?? "", /^finish the sign-in, then connect again; .*direct: \["web\.shop"\]$/);
  assert.match(tables.state("lab")?.reason ?? "", /waits for the sign-in with "kubelogin"/);
});

Deno.test("ClusterTables queries again soon while a sign-in outlasts a request", async () => {
  const { table, tables, clock, begin } = parts();
  await using _tables = tables;
  table.signingInWith = "tsh";
  const web = begin("web.shop");
  await settle();
  table.fails(new PosternError("timeout", "Cannot reach lab: no answer within 20 s"));
  await web.done;
  await clock.advance(1_000);
  assert.equal(table.asked, 2);
  const later = begin("web.shop");
  await settle();
  assert.equal(later.way, "waiting");
  table.has("web.shop");
  await later.done;
  assert.equal(later.way, "lab");
});

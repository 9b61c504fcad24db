import assert from "node:assert/strict";
import {
  checkConfig,
  environmentFromFiles,
  explainFromFiles,
  pacFromFiles,
  showConfig,
} from "../../../../src/instance/mod.ts";
import { kubeconfigOf } from "../../../support/kube_world.ts";
import { MemoryWorld } from "../../../support/memory_world.ts";

const { signal } = new AbortController();
const path = "/config/config.yaml";
const text = "listen:\n  mixed: 0.0.0.0:3\n  auth: { users: [{ name: me, passwordFile: /pw }] }\n" +
  'transports: { corp: { proxy: { url: "http://me:hidden@10.0.0.1:3128" } } }\n' +
  "routes: [{ to: corp.example, via: corp }]\n";

function world(more: Readonly<Record<string, string>> = { "/pw": "p ss/\n" }): MemoryWorld {
  return new MemoryWorld({ files: { [path]: text, ...more } });
}

Deno.test("checkConfig() starts nothing and reports", async () => {
  const place = world();
  const { path: checked, errors, warnings } = await checkConfig(place, {});
  assert.deepEqual([checked, errors], [path, []]);
  assert.equal(warnings.length, 1);
  assert.match(
    warnings[0] ?? "",
    /^\/config\/config\.yaml:4:\d+: warning: transports\.corp\.proxy\.url: contains a password/,
  );
  assert.deepEqual([place.network.connects, place.network.lookups], [[], []]);
});

Deno.test("checkConfig() reports a missing password file with its position", async () => {
  const { errors } = await checkConfig(world({}), {});
  assert.deepEqual(errors.map((line) => line.replace(/^(\S+) /, "$1 ")), [
    `${path}:3:45: listen.auth.users[0].passwordFile: Cannot read /pw: no such file`,
  ]);
});

Deno.test("checkConfig() reports a cluster whose proxy is this instance", async () => {
  const listens = [
    { listen: "127.0.0.1:12000", proxy: "socks5://127.0.0.1:12000", is: "unusable" },
    { listen: "0.0.0.0:12000, allowOpen: true", proxy: "http://localhost:12000", is: "unusable" },
    { listen: "127.0.0.1:12000", proxy: "socks5://127.0.0.1:12000", via: "direct", is: "usable" },
    { listen: "127.0.0.1:12000", proxy: "socks5://127.0.0.1:12001", is: "usable" },
  ];
  for (const { listen, proxy, via, is } of listens) {
    const files = {
      [path]: `listen: { mixed: ${listen} }\n` +
        `transports: { lab: { kubernetes: { kubeconfig: /kube }${via ? `, via: ${via}` : ""} } }\n`,
      "/kube": kubeconfigOf({ cluster: { "proxy-url": proxy } }),
    };
    const { errors, transports } = await checkConfig(new MemoryWorld({ files }), {});
    assert.deepEqual(errors, []);
    const lab = transports.find(({ name }) => name === "lab");
    assert.equal(lab?.isUsable, is === "usable", `${listen} ${proxy}`);
    if (is === "usable") continue;
    const [note] = lab?.notes ?? [];
    assert.match(note?.text ?? "", /"lab": the proxy-url of its kubeconfig, .*:12000, is this instance/);
    assert.match(note?.hint ?? "", /"via"/);
  }
});

Deno.test("checkConfig() warns about a table with several possible clusters", async () => {
  const cases = [
    { settings: "contexts: all, suffix: k8s.internal", to: '["<services>", .svc]', isTold: true },
    { settings: "contexts: [a, b], suffix: k8s.internal", to: '"<clusterips>"', isTold: true },
    { settings: "contexts: all, suffix: k8s.internal", to: ".k8s.internal", isTold: false },
    { settings: "context: lab", to: '["<services>", "<clusterips>"]', isTold: false },
  ];
  for (const { settings, to, isTold } of cases) {
    const files = {
      [path]: `transports: { all: { kubernetes: { kubeconfig: /kube, ${settings} } } }\n` +
        `routes: [{ to: ${to}, via: all }]\n`,
      "/kube": kubeconfigOf({}),
    };
    const { errors, warnings } = await checkConfig(new MemoryWorld({ files }), {});
    assert.deepEqual(errors, []);
    const told = warnings.filter((line) => line.includes("routes[0].to: matches nothing for <"));
    assert.equal(told.length, isTold ? 1 : 0, `${settings} ${to}: ${warnings.join()}`);
  }
});

Deno.test("checkConfig() warns about a table without a cluster", async () => {
  const rules = [
    { rule: 'routes: [{ to: ["<services>", .svc], via: corp }]', is: "routes[0].to: matches nothing for <s" },
    { rule: 'routes: [{ to: "<clusterips>", via: reject }]', is: "routes[0].to: matches nothing for <c" },
    {
      rule: 'direct: [a.example, "<services>", "<clusterips>"]',
      is: "direct: matches nothing for <services> and <c",
    },
    { rule: "routes: [{ to: .svc, via: corp }]", is: undefined },
  ];
  for (const { rule, is } of rules) {
    const files = { [path]: `transports: { corp: { proxy: { url: "http://10.0.0.1:3128" } } }\n${rule}\n` };
    const { errors, warnings } = await checkConfig(new MemoryWorld({ files }), {});
    assert.deepEqual(errors, []);
    assert.equal(warnings.length, is === undefined ? 0 : 1, rule);
    if (is !== undefined) assert.ok(warnings[0]?.includes(`: warning: ${is}`), warnings[0]);
  }
});

Deno.test("showConfig() shows no secret, and nothing of an invalid configuration", async () => {
  const shown = JSON.stringify(await showConfig(world(), {}));
  assert.ok(!shown.includes("hidden") && shown.includes("me:***@10.0.0.1"), shown);
  assert.ok(!shown.includes("p ss"));
  const broken = world();
  broken.files.put(path, "default: gone\n");
  await assert.rejects(showConfig(broken, {}), { code: "config" });
});

Deno.test("explainFromFiles() explains a route without an instance", async () => {
  const { transport, because, hops } = await explainFromFiles(world(), {}, {
    target: { host: "a.corp.example", port: 443 },
    dial: false,
    signal,
  });
  assert.equal(transport, "corp");
  assert.match(because, /corp\.example/);
  assert.deepEqual(hops.map(({ name, type }) => [name, type]), [["corp", "proxy"]]);
  assert.ok(!JSON.stringify(hops).includes("hidden"));
});

Deno.test("pacFromFiles() names the listener as local browsers reach it", async () => {
  const pac = await pacFromFiles(world(), {});
  assert.ok(pac.includes("PROXY 127.0.0.1:3"), pac);
  assert.ok((await pacFromFiles(world(), {}, { authority: "[::1]:3" })).includes("[::1]:3"));
});

Deno.test("environmentFromFiles() includes a password only on request", async () => {
  const without = await environmentFromFiles(world(), {}, { credentials: false });
  assert.deepEqual(
    [without.http, without.socks, without.needsAuth],
    ["http://127.0.0.1:3", "socks5h://127.0.0.1:3", true],
  );
  const { http } = await environmentFromFiles(world(), {}, { credentials: true });
  assert.equal(http, "http://me:p%20ss%2F@127.0.0.1:3");
  await assert.rejects(environmentFromFiles(world(), {}, { credentials: false, client: "cobol" }), {
    code: "usage",
  });
});

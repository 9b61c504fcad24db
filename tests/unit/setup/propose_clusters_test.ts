import assert from "node:assert/strict";
import { shortLabel } from "../../../src/setup/propose_clusters.ts";
import { Router } from "../../../src/routing/mod.ts";
import { rulesOf } from "../../../src/setup/proposal.ts";
import { type Fixture, proposed, rule } from "./found_fixtures.ts";

const cases: {
  readonly name: string;
  readonly contexts: NonNullable<Fixture["contexts"]>;
  readonly existing?: Fixture["existing"];
  readonly lines: readonly string[];
  readonly notes?: RegExp;
}[] = [
  {
    name: "the plain names for the only cluster",
    contexts: [{ name: "lab", url: "https://api.lab.example:6443" }],
    lines: [
      "transports:",
      "  lab: { kubernetes: { context: lab, suffix: lab } }",
      "routes:",
      "  - { to: [.svc, .cluster.local, .svc.lab], via: lab }",
    ],
  },
  {
    name: "a suffix for each of several clusters",
    contexts: [
      { name: "kind-one", url: "https://127.0.0.1:6443" },
      { name: "kind-two", url: "https://127.0.0.1:7443", files: ["/home/me/.kube/two.yaml"] },
    ],
    lines: [
      "transports:",
      "  kind-one: { kubernetes: { context: kind-one, suffix: kind-one } }",
      "  kind-two: { kubernetes: { kubeconfig: /home/me/.kube/two.yaml, context: kind-two, suffix: kind-two } }",
      "routes:",
      "  - { to: .svc.kind-one, via: kind-one }",
      "  - { to: .svc.kind-two, via: kind-two }",
      "  - { to: [.svc, .cluster.local], via: reject }",
    ],
  },
  {
    name: "one transport for two contexts of a cluster, of the current one",
    contexts: [
      { name: "lab-admin", url: "https://api.lab.example:6443/" },
      { name: "lab", url: "https://API.lab.example:6443", isCurrent: true },
    ],
    lines: [
      "transports:",
      "  lab: { kubernetes: { context: lab, suffix: lab } }",
      "routes:",
      "  - { to: [.svc, .cluster.local, .svc.lab], via: lab }",
    ],
  },
  {
    name: "different suffixes for clusters with the same short name",
    contexts: [
      { name: "admin@kube", url: "https://one.example" },
      { name: "root@kube", url: "https://two.example" },
    ],
    lines: [
      "transports:",
      "  kube: { kubernetes: { context: admin@kube, suffix: kube } }",
      "  kube-2: { kubernetes: { context: root@kube, suffix: kube-2 } }",
      "routes:",
      "  - { to: .svc.kube, via: kube }",
      "  - { to: .svc.kube-2, via: kube-2 }",
      "  - { to: [.svc, .cluster.local], via: reject }",
    ],
  },
  {
    name: "a private suffix for a context that is a public domain",
    contexts: [{ name: "dev", url: "https://one.example" }],
    lines: [
      "transports:",
      "  dev: { kubernetes: { context: dev, suffix: dev.internal } }",
      "routes:",
      "  - { to: [.svc, .cluster.local, .svc.dev.internal], via: dev }",
    ],
  },
  {
    name: "nothing for a cluster behind postern itself",
    contexts: [{
      name: "c-1",
      url: "https://one.example",
      proxy: { place: "socks5://localhost:12000", isOwn: true },
    }],
    lines: [],
    notes: /c-1: the proxy-url is postern itself, so a catalogue routes it/,
  },
  {
    name: "nothing for a configured cluster, and no plain names for a second one",
    contexts: [{ name: "old", url: "https://old.example" }, { name: "new", url: "https://new.example" }],
    existing: {
      transports: { mine: { kind: "kubernetes", settings: {} } },
      servers: new Map([["old.example:443", "mine"]]),
    },
    lines: [
      "transports:",
      "  new: { kubernetes: { context: new, suffix: new.internal } }",
      "routes:",
      "  - { to: .svc.new.internal, via: new }",
      "  - { to: [.svc, .cluster.local], via: reject }",
    ],
  },
  {
    name: "no route that the configuration has",
    contexts: [{ name: "lab", url: "https://one.example" }],
    existing: { rules: [rule(".svc", "other")] },
    lines: [
      "transports:",
      "  lab: { kubernetes: { context: lab, suffix: lab } }",
      "routes:",
      "  - { to: [.cluster.local, .svc.lab], via: lab }",
    ],
  },
  {
    name: "the path that the configuration has for an API server",
    contexts: [{ name: "lab", url: "https://api.corp.example:6443" }],
    existing: {
      transports: { jump: { kind: "ssh", settings: "jump" } },
      rules: [rule("corp.example", "jump")],
    },
    lines: [
      "transports:",
      "  lab: { kubernetes: { context: lab, suffix: lab }, via: jump }",
      "routes:",
      "  - { to: [.svc, .cluster.local, .svc.lab], via: lab }",
    ],
  },
  {
    name: "nothing for a cluster whose API server a catalogue routes",
    contexts: [{ name: "lab", url: "https://api.corp.example:6443" }],
    existing: { rules: [rule("corp.example", "main/c-1", "catalogue")] },
    lines: [],
    notes: /lab: rule corp\.example \(test\) routes its API server/,
  },
  {
    name: "names that are not YAML words in quotes",
    contexts: [{ name: 'a: "b" # c\u2028d', url: "https://one.example" }],
    lines: [
      "transports:",
      '  a-b-c-d: { kubernetes: { context: "a: \\"b\\" # c\\u2028d", suffix: a-b-c-d } }',
      "routes:",
      "  - { to: [.svc, .cluster.local, .svc.a-b-c-d], via: a-b-c-d }",
    ],
  },
];

for (const { name, contexts, existing, lines, notes } of cases) {
  Deno.test(`proposeClusters() proposes ${name}`, async () => {
    const found = await proposed({ contexts, ...(existing && { existing }) });
    assert.deepEqual(found.lines, lines);
    if (notes) assert.match(found.notes.join("\n"), notes);
  });
}

Deno.test("proposeClusters() names the place, the server and the other contexts in a comment", async () => {
  const { text } = await proposed({
    contexts: [
      { name: "lab", url: "https://api.lab.example:6443", isCurrent: true, place: "~/.kube/config:7" },
      { name: "lab\nroutes: []", url: "https://api.lab.example:6443" },
    ],
  });
  assert.match(
    text,
    /^ {2}# Context lab of ~\/\.kube\/config:7, API server api\.lab\.example:6443; the same cluster as lab routes: \[\]$/m,
  );
});

const labels = [
  ["kind-dev", "kind-dev"],
  ["admin@prod", "prod"],
  ["arn:aws:eks:eu-central-1:123456789012:cluster/web", "web"],
  ["gke_project-1_europe-west6-a_main", "main"],
  ["shop/api-c-lab-example-com:6443/me", "c-lab-example-com"],
  ["Größe", "gr-e"],
  ["42", "cluster-42"],
  ["///", "cluster"],
] as const;

Deno.test("shortLabel() returns a label that names the cluster", () => {
  for (const [context, label] of labels) assert.equal(shortLabel(context), label);
});

Deno.test("propose() tries a cluster also through the jump host of its domain, and the proxy", async () => {
  const { proposal } = await proposed({
    ssh: "Host bastion\nHost a b\n  HostName %h.corp.example\n  ProxyJump bastion\n",
    contexts: [{ name: "lab", url: "https://api.corp.example:6443" }, {
      name: "far",
      url: "https://api.far.example",
    }, { name: "near", url: "https://10.0.0.1:6443" }],
    catalogues: ["https://api.corp.example", "https://api.far.example"],
    proxies: { https_proxy: "http://proxy.example:3128", no_proxy: "corp.example,10.0.0.0/8" },
  });
  const paths = Object.fromEntries(
    proposal.transports.map(({ name, candidates }) => [name, candidates]),
  );
  assert.deepEqual(paths, {
    bastion: undefined,
    lab: ["bastion"],
    far: ["proxy"],
    near: [],
    proxy: undefined,
  });
  assert.deepEqual(proposal.catalogues.map(({ candidates }) => candidates), [["bastion"], ["proxy"]]);
});

const plain = ["web.shop.svc", "web.shop.svc.cluster.local", "svc.cluster.local"];
const two = [{ name: "one", url: "https://one.example" }, { name: "two", url: "https://two.example" }];
const lists: { readonly contexts: typeof two; readonly no_proxy: string; readonly transport: string }[] = [
  { contexts: two, no_proxy: "", transport: "reject" },
  { contexts: two, no_proxy: ".svc,.cluster.local,svc.cluster.local", transport: "reject" },
  { contexts: two.slice(1), no_proxy: ".svc,.cluster.local,shop.svc,svc.cluster.local", transport: "two" },
];
for (const { contexts, no_proxy, transport } of lists) {
  Deno.test(`propose() sends plain names to ${transport}, with ${contexts.length} clusters and NO_PROXY=${no_proxy}`, async () => {
    const { proposal } = await proposed({
      contexts,
      proxies: { http_proxy: "http://proxy.example:1", no_proxy },
    });
    const router = new Router({ rules: rulesOf(proposal.routes), fallback: proposal.fallback?.name ?? "" });
    for (const host of plain) assert.equal(router.route({ host, port: 80 }).transport, transport, host);
    assert.equal(router.route({ host: "web.example", port: 80 }).transport, "proxy");
  });
}

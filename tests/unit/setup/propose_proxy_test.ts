import assert from "node:assert/strict";
import { type Fixture, proposed, rule } from "./found_fixtures.ts";

const usual = '  - { to: [localhost, 127.0.0.0/8, "::1"], via: direct }';

const cases: {
  readonly name: string;
  readonly proxies: Fixture["proxies"];
  readonly existing?: Fixture["existing"];
  readonly lines: readonly string[];
  readonly notes?: RegExp;
}[] = [
  { name: "nothing without a proxy", proxies: { no_proxy: "corp.example" }, lines: [] },
  {
    name: "the proxy as the default, except for this machine",
    proxies: { http_proxy: "http://proxy.example:3128/", https_proxy: "http://proxy.example:3128" },
    lines: [
      "transports:",
      '  proxy: { proxy: { url: "http://proxy.example:3128" } }',
      "routes:",
      usual,
      "default: proxy",
    ],
  },
  {
    name: "routes for NO_PROXY",
    proxies: {
      ALL_PROXY: "socks5h://proxy.example",
      NO_PROXY: "localhost,127.0.0.1,.corp.example, *.lab.example,10.0.0.0/8,[fd00::1],bad/entry",
    },
    lines: [
      "transports:",
      '  proxy: { proxy: { url: "socks5h://proxy.example" } }',
      "routes:",
      '  - { to: [localhost, 127.0.0.0/8, "::1", corp.example, lab.example, 10.0.0.0/8, "fd00::1"], via: direct }',
      "default: proxy",
    ],
    notes: /NO_PROXY: postern cannot express bad\/entry/,
  },
  {
    name: "a host without a scheme",
    proxies: { https_proxy: "proxy.example:8080" },
    lines: [
      "transports:",
      '  proxy: { proxy: { url: "http://proxy.example:8080" } }',
      "routes:",
      usual,
      "default: proxy",
    ],
  },
  { name: "nothing for postern itself", proxies: { all_proxy: "socks5h://localhost:12000" }, lines: [] },
  {
    name: "nothing if NO_PROXY turns it off",
    proxies: { http_proxy: "http://proxy.example", no_proxy: "*" },
    lines: [],
    notes: /NO_PROXY turns the proxy off/,
  },
  {
    name: "nothing for other values",
    proxies: { http_proxy: "gopher://me:hunter2@proxy.example" },
    lines: [],
    notes: /http_proxy: the value is not the URL of an HTTP or SOCKS5 proxy/,
  },
  {
    name: "only a transport if a default is set",
    proxies: { http_proxy: "http://proxy.example:1" },
    existing: { hasDefault: true },
    lines: ["transports:", '  proxy: { proxy: { url: "http://proxy.example:1" } }'],
    notes: /"default" or a rule for any is set already; to use the proxy, name proxy there/,
  },
  {
    name: "exceptions that existing rules decide only in part",
    proxies: {
      http_proxy: "http://proxy.example:1",
      no_proxy: "corp.example,lab.example,10.0.0.0/8,10.1.0.0/16",
    },
    existing: {
      transports: { jump: { kind: "ssh", settings: "jump" } },
      rules: [rule("=corp.example", "jump"), rule("lab.example:22", "jump"), rule("10.0.0.0/24", "jump")],
    },
    lines: [
      "transports:",
      '  proxy: { proxy: { url: "http://proxy.example:1" } }',
      "routes:",
      '  - { to: [localhost, 127.0.0.0/8, "::1", corp.example, lab.example, 10.0.0.0/8, 10.1.0.0/16], via: direct }',
      "default: proxy",
    ],
  },
  {
    name: "no default if NO_PROXY contains a part of a catalogue",
    proxies: { http_proxy: "http://proxy.example:1", no_proxy: "corp.example" },
    existing: { rules: [rule("c-1.corp.example", "main/c-1", "catalogue")] },
    lines: ["transports:", '  proxy: { proxy: { url: "http://proxy.example:1" } }'],
    notes:
      /corp\.example: not proposed for direct, because rule "c-1\.corp\.example" \(test\) routes targets in it/,
  },
  {
    name: "nothing for a configured proxy",
    proxies: { http_proxy: "http://proxy.example:3128" },
    existing: {
      transports: {
        corp: { kind: "proxy", settings: { scheme: "http", host: "proxy.example", port: 3128 } },
      },
    },
    lines: [],
  },
  {
    name: "one of two proxies",
    proxies: { http_proxy: "http://one.example:1", https_proxy: "http://two.example:2" },
    lines: [
      "transports:",
      '  proxy: { proxy: { url: "http://two.example:2" } }',
      "routes:",
      usual,
      "default: proxy",
    ],
    notes: /http_proxy: postern proposes only one proxy of the environment, that of https_proxy/,
  },
];

for (const { name, proxies, existing, lines, notes } of cases) {
  Deno.test(`proposeProxy() proposes ${name}`, async () => {
    const found = await proposed({ ...(proxies && { proxies }), ...(existing && { existing }) });
    assert.deepEqual(found.lines, lines);
    if (notes) assert.match(found.notes.join("\n"), notes);
    assert.doesNotMatch(`${found.text}${found.notes}`, /hunter2/);
  });
}

Deno.test("proposeProxy() moves a password into a file", async () => {
  const { proposal, text } = await proposed({
    proxies: { HTTPS_PROXY: "https://me%40corp:hunter%3A2@proxy.example" },
  });
  assert.match(
    text,
    /proxy: \{ proxy: \{ url: "https:\/\/proxy\.example", user: me@corp, passwordFile: \/config\/proxy\.password \} \}/,
  );
  assert.deepEqual(proposal.secrets, [
    { path: "/config/proxy.password", text: "hunter:2\n", variable: "HTTPS_PROXY", transport: "proxy" },
  ]);
  assert.doesNotMatch(text, /hunter/);
});

Deno.test("propose() adds a catalogue once, and not a configured one", async () => {
  const catalogues = [
    "https://one.example/",
    "https://one.example",
    "https://two.example/api",
    "https://old.example",
  ];
  const { lines } = await proposed({
    catalogues,
    existing: { catalogues: [{ url: "https://old.example/", name: "main" }] },
  });
  assert.deepEqual(lines, [
    "catalogues:",
    '  - { lieutenant: "https://one.example/", name: one.example }',
    '  - { lieutenant: "https://two.example/api", name: two.example }',
  ]);
});

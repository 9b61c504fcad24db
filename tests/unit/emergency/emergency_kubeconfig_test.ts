import assert from "node:assert/strict";
import type { Cluster } from "../../../src/clusters/mod.ts";
import { emergencyKubeconfig } from "../../../src/emergency/mod.ts";
import { type ErrorCode, PosternError } from "../../../src/words/mod.ts";

const ca = btoa("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
const other = btoa("-----BEGIN CERTIFICATE-----\nBBBB\n-----END CERTIFICATE-----\n");
const cluster: Cluster = {
  id: "c-lab",
  displayName: "Lab",
  facts: {},
  dynamicFacts: { talosApiURL: "https://api.example.net:6443", talosAPICertificateAuthorityData: ca },
};
const token = "SECRET.TOKEN-1234";
const server = "https://api.example.net:6443";

/** A kubeconfig with some fields from the test. */
function written(
  { of = {}, user = { token }, more = {} }: {
    readonly of?: Readonly<Record<string, unknown>>;
    readonly user?: unknown;
    readonly more?: Readonly<Record<string, unknown>>;
  } = {},
): string {
  return JSON.stringify({
    "current-context": "a",
    clusters: [{ name: "x", cluster: { server, ...of } }],
    contexts: [{ name: "a", context: { cluster: "x", user: "y" } }],
    users: [{ name: "y", user }],
    ...more,
  });
}

const made = (
  text: string,
  known: Cluster | null = cluster,
  believed: Readonly<Record<string, string>> = {},
) =>
  emergencyKubeconfig(text, {
    name: "c-lab",
    cluster: known ?? undefined,
    proxyUrl: "socks5://127.0.0.1:1",
    allowExec: ["kubelogin"],
    authorityOf: ({ host }) => Promise.resolve(believed[host]),
  });

Deno.test("emergencyKubeconfig() connects through the instance, with separate names", async () => {
  const { kubeconfig, notes } = await made(written({ of: { "proxy-url": "http://evil.example" } }));
  const name = "emergency-credentials/c-lab";
  assert.deepEqual(notes, []);
  assert.deepEqual(kubeconfig, {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{
      name,
      cluster: { server, "certificate-authority-data": ca, "proxy-url": "socks5://127.0.0.1:1" },
    }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    users: [{ name, user: { token } }],
    "current-context": name,
  });
});

const forms = [
  { name: "a token", text: `${token}\n` },
  { name: "YAML", text: written().replaceAll("}", " }") },
  {
    name: "its only context, without a current one",
    text: written({ more: { "current-context": "" } }),
  },
  {
    name: "the current one of two contexts",
    text: written({
      more: {
        contexts: [
          { name: "b", context: { cluster: "z", user: "z" } },
          { name: "a", context: { cluster: "x", user: "y" } },
        ],
      },
    }),
  },
];
for (const { name, text } of forms) {
  Deno.test(`emergencyKubeconfig() accepts ${name}`, async () => {
    const { kubeconfig } = await made(text);
    assert.equal(kubeconfig.clusters[0]?.cluster.server, server);
    assert.deepEqual(kubeconfig.users[0]?.user, { token });
  });
}

Deno.test("emergencyKubeconfig() keeps its certificate authority and works without facts", async () => {
  const brought = await made(
    written({ of: { "certificate-authority-data": other, "tls-server-name": "a.b" } }),
  );
  const { cluster: found } = brought.kubeconfig.clusters[0] ?? assert.fail();
  assert.deepEqual([found["certificate-authority-data"], found["tls-server-name"]], [other, "a.b"]);
  const alone = (await made(written(), null)).kubeconfig.clusters[0]?.cluster;
  assert.ok(alone && !("certificate-authority-data" in alone));
});

Deno.test("emergencyKubeconfig() uses the authority trusted on first use if there is no other", async () => {
  const plain = { ...cluster, dynamicFacts: { openshiftApiURL: server } };
  const believed = { "api.example.net:6443": atob(other) };
  const elsewhere = written({ of: { server: "https://elsewhere.example" } });
  const brought = written({ of: { "certificate-authority-data": ca } });
  for (
    const { text, known, expected } of [
      { text: token, known: plain, expected: other },
      { text: written(), known: plain, expected: other },
      { text: written(), known: null, expected: other },
      { text: elsewhere, known: plain, expected: undefined },
      { text: brought, known: plain, expected: ca },
      { text: token, known: cluster, expected: ca },
    ]
  ) {
    const { clusters: [found] } = (await made(text, known, believed)).kubeconfig;
    assert.equal(found?.cluster["certificate-authority-data"], expected, text);
  }
});

Deno.test("emergencyKubeconfig() reports an address that differs from the facts", async () => {
  const { notes } = await made(written({ of: { server: "https://elsewhere.example" } }));
  assert.deepEqual(notes, [
    'they are for "https://elsewhere.example", but the facts of c-lab contain "https://api.example.net:6443"',
  ]);
});

const refused: {
  readonly name: string;
  readonly text: string;
  readonly cluster?: null;
  readonly code?: ErrorCode;
  readonly says: RegExp;
}[] = [
  {
    name: "a token without an address",
    text: token,
    cluster: null,
    says: /a token, but no fact contains the URL/,
  },
  { name: "a sentence", text: `this is ${token}`, says: /neither a kubeconfig nor a token/ },
  { name: "broken YAML", text: `clusters: [${token}`, says: /neither a kubeconfig nor a token/ },
  { name: "an empty mapping", text: "{}", says: /several contexts and no current-context/ },
  {
    name: "a context without a user",
    text: written({ more: { users: [] } }),
    says: /has no user for its context/,
  },
  {
    name: "a context without a cluster",
    text: written({ more: { clusters: [{ name: "z", cluster: { server } }] } }),
    says: /has no cluster for its context/,
  },
  {
    name: "a server without TLS",
    text: written({ of: { server: "http://api.example.net" } }),
    says: /not a URL that begins with https/,
  },
  {
    name: "a server with a password",
    text: written({ of: { server: "https://a:b@api.example.net" } }),
    says: /not a URL that begins with https/,
  },
  {
    name: "trust in any server",
    text: written({ of: { "insecure-skip-tls-verify": true } }),
    says: /insecure-skip-tls-verify: any server could pose as the cluster/,
  },
  {
    name: "a file on another machine",
    text: written({ of: { "certificate-authority": "/etc/ca.crt" } }),
    says: /certificate-authority: the file is on another machine/,
  },
  {
    name: "a broken authority",
    text: written({ of: { "certificate-authority-data": "AAAA" } }),
    says: /is not base64-encoded PEM/,
  },
  {
    name: "a program that is not allowed",
    text: written({ user: { exec: { apiVersion: "client.authentication.k8s.io/v1", command: "sh" } } }),
    code: "not_allowed",
    says: /exec\.command is "sh", which is not in allowExec/,
  },
  {
    name: "a program with a path",
    text: written({
      user: { exec: { apiVersion: "client.authentication.k8s.io/v1", command: "/tmp/kubelogin" } },
    }),
    code: "not_allowed",
    says: /must be the name of a program without a path/,
  },
  {
    name: "a token in a file",
    text: written({ user: { tokenFile: "/etc/shadow" } }),
    code: "not_allowed",
    says: /tokenFile is not a known key/,
  },
];
for (const { name, text, cluster: known = cluster, code = "protocol", says } of refused) {
  Deno.test(`emergencyKubeconfig() refuses ${name}`, async () => {
    await assert.rejects(made(text, known), (error: Error) => {
      assert.ok(error instanceof PosternError);
      assert.equal(error.code, code);
      assert.match(error.message, says);
      assert.ok(!error.message.includes(token), error.message);
      return true;
    });
  });
}

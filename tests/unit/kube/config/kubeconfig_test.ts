import assert from "node:assert/strict";
import { type Cluster, knownClusters } from "../../../../src/clusters/mod.ts";
import { kubeconfigOf } from "../../../../src/kube/mod.ts";
import type { KubeconfigOptions } from "../../../../src/kube/config/kubeconfig.ts";

const pem = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
const rules = { authInfoFact: "login", allowExec: ["kubelogin"] };
const talos = {
  talosApiURL: "https://api.c-talos.example.net:6443",
  oidcIssuer: "https://sso.example.net/realms/a",
  oidcClientId: "c-talos",
  talosAPICertificateAuthorityData: btoa(pem),
};

Deno.test("kubeconfigOf() names cluster, context and user after the cluster, and sorts them", () => {
  const { kubeconfig, notes } = made([
    cluster("c-b", { openshiftApiURL: "https://api.c-b.example.net:6443", login: { exec: exec() } }),
    cluster("c-a", { openshiftApiURL: "https://api.c-a.example.net:6443/" }),
    cluster("c-none", {}),
  ]);
  assert.deepEqual(kubeconfig, {
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      {
        name: "c-a",
        cluster: { server: "https://api.c-a.example.net:6443", "proxy-url": "socks5://127.0.0.1:1" },
      },
      {
        name: "c-b",
        cluster: { server: "https://api.c-b.example.net:6443", "proxy-url": "socks5://127.0.0.1:1" },
      },
    ],
    contexts: [
      { name: "c-a", context: { cluster: "c-a", user: "c-a" } },
      { name: "c-b", context: { cluster: "c-b", user: "c-b" } },
    ],
    users: [
      {
        name: "c-a",
        user: {
          exec: {
            apiVersion: "client.authentication.k8s.io/v1",
            command: "/bin/postern",
            args: ["run", "exec-credential", "--server=https://api.c-a.example.net:6443"],
            provideClusterInfo: true,
            interactiveMode: "Never",
          },
        },
      },
      { name: "c-b", user: { exec: { ...exec(), interactiveMode: "IfAvailable" } } },
    ],
    "current-context": "c-b",
  });
  assert.equal(notes.length, 1);
  assert.match(notes[0] ?? "", /^c-none is omitted: no fact contains an API URL/);
});

Deno.test("kubeconfigOf() gives Talos clusters kubelogin and their certificate authority", () => {
  const { kubeconfig, notes } = made([cluster("c-talos", talos)]);
  assert.deepEqual(notes, []);
  assert.equal(kubeconfig.clusters[0]?.cluster["certificate-authority-data"], btoa(pem));
  const { exec } = kubeconfig.users[0]?.user ?? {};
  assert.equal(exec?.command, "kubelogin");
  assert.deepEqual(exec?.args, [
    "get-token",
    "--oidc-issuer-url=https://sso.example.net/realms/a",
    "--oidc-client-id=c-talos",
    "--oidc-extra-scope=email",
    "--oidc-extra-scope=profile",
  ]);
});

Deno.test("kubeconfigOf() accepts a certificate authority in plain PEM", () => {
  const { kubeconfig } = made([cluster("c-a", { ...talos, talosAPICertificateAuthorityData: `x\n${pem}` })]);
  assert.equal(kubeconfig.clusters[0]?.cluster["certificate-authority-data"], btoa(pem));
});

const withoutUser: readonly {
  name: string;
  facts: Cluster["facts"];
  note: RegExp;
  options?: Partial<KubeconfigOptions>;
}[] = [
  {
    name: "an issuer in the clear",
    facts: { ...talos, oidcIssuer: "http://sso.example" },
    note: /oidcIssuer is not/,
  },
  { name: "a client of two words", facts: { ...talos, oidcClientId: "a b" }, note: /oidcClientId is not/ },
  {
    name: "a bad certificate",
    facts: { ...talos, talosAPICertificateAuthorityData: "x" },
    note: /no certificate authority/,
  },
  {
    name: "a bad user",
    facts: { ...talos, login: { exec: exec("sh") } },
    note: /no user: postern cannot use the fact login/,
  },
  {
    name: "a token",
    facts: { ...talos, login: { token: "s3cret" } },
    note: /contains credentials; to write them, add --with-credentials/,
  },
  {
    name: "kubelogin that is not in allowExec",
    facts: talos,
    note: /kubelogin is not in allowExec/,
    options: { rulesFor: () => ({ allowExec: [] }) },
  },
  {
    name: "an empty cluster",
    facts: { talosApiURL: talos.talosApiURL },
    note: /no fact describes a sign-in/,
  },
];
for (const { name, facts, note, options = {} } of withoutUser) {
  Deno.test(`kubeconfigOf() reports ${name}`, () => {
    const { kubeconfig, notes } = made([cluster("c-a", facts)], options);
    assert.equal(notes.length, 1);
    assert.match(notes[0] ?? "", note);
    assert.equal(kubeconfig.clusters.length, 1);
    assert.doesNotMatch(JSON.stringify([kubeconfig, notes]), /s3cret/);
  });
}

Deno.test("kubeconfigOf() writes a token when credentials are requested", () => {
  const { kubeconfig } = made([cluster("c-a", { ...talos, login: { token: "s3cret" } })], {
    credentials: true,
  });
  assert.deepEqual(kubeconfig.users, [{ name: "c-a", user: { token: "s3cret" } }]);
});

function made(clusters: readonly Cluster[], options: Partial<KubeconfigOptions> = {}) {
  const known = knownClusters([{ name: "main", source: "", fetched: "2026-01-01T00:00:00.000Z", clusters }]);
  return kubeconfigOf(known, {
    proxyUrl: "socks5://127.0.0.1:1",
    credentials: false,
    self: ["/bin/postern", "run"],
    rulesFor: () => rules,
    ...options,
  });
}

function cluster(id: string, facts: Cluster["facts"]): Cluster {
  return { id, displayName: id, facts, dynamicFacts: {} };
}

function exec(command = "kubelogin") {
  return { apiVersion: "client.authentication.k8s.io/v1" as const, command, args: ["get-token"] };
}

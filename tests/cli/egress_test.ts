import assert from "node:assert/strict";
import { Household } from "../support/postern_process.ts";
import { testTls } from "../support/tls_files.ts";

const faulty = `apiVersion: config.openshift.io/v1
kind: Proxy
metadata: { name: cluster }
spec:
  httpProxy: https://me:hunter2@proxy.test
  httpsProxy: http://me:hunter2@
  noProxy: "*.example.com,10.0.0.1:80,999.999.999.999"
  trustedCA: { name: ca }
---
apiVersion: v1
kind: ConfigMap
metadata: { name: ca, namespace: openshift-config }
data: { ca-bundle.crt: "words" }
`;

Deno.test("postern egress check reports every problem with its position, exit code 7, and no password", async () => {
  await using home = await Household.open();
  const path = `${home.directory}/proxy.yaml`;
  await Deno.writeTextFile(path, faulty);
  const { code, stdout, stderr } = await home.run(["egress", "check", path]);
  assert.equal(code, 7, stderr);
  const lines = stdout.trimEnd().split("\n");
  const says = (what: RegExp) => assert.ok(lines.some((line) => what.test(line)), `${what} in:\n${stdout}`);
  says(/^failed +.*proxy\.yaml:5:14: spec\.httpProxy: must begin with http:\/\//);
  says(/^failed +.*proxy\.yaml:6:15: spec\.httpsProxy: must have a host/);
  says(/^failed +.*proxy\.yaml:7:12: spec\.noProxy: item 1 /);
  says(/^failed +.*proxy\.yaml:7:12: spec\.noProxy: item 2 /);
  says(/^failed +.*proxy\.yaml:8:14: spec\.trustedCA: ConfigMap "ca" contains no certificate/);
  says(/^warning .*spec\.noProxy: item 3 .* matches nothing/);
  says(/^failed +the cluster would reject this proxy/);
  assert.doesNotMatch(stdout + stderr, /hunter2/);
  const json = await home.run(["egress", "check", path, "-o", "json"]);
  assert.equal(json.code, 7);
  const { isAccepted, problems } = JSON.parse(json.stdout);
  assert.equal(isAccepted, false);
  assert.deepEqual(problems.map(({ reason }: { reason: string }) => reason), [
    "NoProxyItem",
    "NoProxyItem",
    "SchemeNotAllowed",
    "HostMissing",
    "NoCertificate",
  ]);
  assert.doesNotMatch(json.stdout, /hunter2/);
});

Deno.test("postern egress check --install-config checks like the installer and shows the list", async () => {
  await using home = await Household.open();
  const path = `${home.directory}/install-config.yaml`;
  const config = (proxy: string) =>
    Deno.writeTextFile(
      path,
      `baseDomain: example.com\nmetadata: { name: c }\nplatform: { none: {} }\nproxy: ${proxy}\n`,
    );
  await config('{ httpProxy: "http://me:hunter2@proxy.test:3128", noProxy: "corp.test" }');
  const sound = await home.run(["egress", "check", "--install-config", path, "-o", "json"]);
  assert.equal(sound.code, 0, sound.stderr);
  assert.deepEqual(JSON.parse(sound.stdout).status, {
    httpProxy: "http://me:***@proxy.test:3128",
    httpsProxy: "",
    noProxy:
      ".cluster.local,.svc,10.0.0.0/16,10.128.0.0/14,127.0.0.1,172.30.0.0/16,api-int.c.example.com,corp.test,localhost",
  });
  await config('{ httpProxy: "http://100.64.0.1:3128", noProxy: "a.test, b.test" }');
  const unsound = await home.run(["egress", "check", "--install-config", path]);
  assert.equal(unsound.code, 7);
  assert.match(unsound.stdout, /install-config\.yaml:4:\d+: proxy\.noProxy: must have no spaces/);
  assert.match(unsound.stdout, /proxy\.httpProxy: must be outside the cluster: 100\.64\.0\.1 is in/);
});

const unreadable = [
  { name: "a missing file", content: undefined, says: /no such file/ },
  { name: "a file that is not YAML", content: "a: [", says: /Cannot read ".*line 1/ },
  { name: "a file without a Proxy", content: "kind: ConfigMap\n", says: /it has no Proxy/ },
  {
    name: "another Proxy",
    content: "kind: Proxy\nmetadata: { name: other }\n",
    says: /it has the Proxy "other", but only the name "cluster" is valid/,
  },
];
for (const { name, content, says } of unreadable) {
  Deno.test(`postern egress check of ${name} exits 4`, async () => {
    await using home = await Household.open();
    const path = `${home.directory}/proxy.yaml`;
    if (content !== undefined) await Deno.writeTextFile(path, content);
    const { code, stderr } = await home.run(["egress", "check", path]);
    assert.equal(code, 4, stderr);
    assert.match(stderr, says);
  });
}

Deno.test("postern egress check without arguments is wrong usage", async () => {
  await using home = await Household.open();
  assert.equal((await home.run(["egress", "check"])).code, 2);
});

const otherObjects = `---
apiVersion: operator.openshift.io/v1
kind: Network
metadata: { name: cluster }
spec: {}
---
apiVersion: config.openshift.io/v1
kind: Network
metadata: { name: cluster }
status: { serviceNetwork: [172.30.0.0/16], clusterNetwork: [{ cidr: 10.128.0.0/14 }] }
---
apiVersion: config.openshift.io/v1
kind: Infrastructure
metadata: { name: cluster }
status: { apiServerInternalURI: "https://api-int.c.test:6443" }
---
apiVersion: v1
kind: ConfigMap
metadata: { name: ca, namespace: shop }
data: { ca-bundle.crt: "words" }
`;

Deno.test("postern egress check uses the same objects as the controller, and reports missing ones", async () => {
  await using home = await Household.open();
  const path = `${home.directory}/proxy.yaml`;
  const check = async (spec: string, ...more: readonly string[]) => {
    const proxy =
      `apiVersion: config.openshift.io/v1\nkind: Proxy\nmetadata: { name: cluster }\nspec: ${spec}\n`;
    await Deno.writeTextFile(path, proxy + otherObjects);
    const { code, stdout, stderr } = await home.run(["egress", "check", path, "-o", "json", ...more]);
    assert.equal(code, 0, stdout + stderr);
    const { warnings, status } = JSON.parse(stdout);
    return { warnings: warnings.map(({ message }: { message: string }) => message), status };
  };
  const machines =
    "the no-proxy list is incomplete: it lacks the machine networks; pass them with --install-config";
  const { warnings, status } = await check(
    '{ httpProxy: "http://proxy.test:3128", trustedCA: { name: ca } }',
  );
  assert.equal(
    status.noProxy,
    ".cluster.local,.svc,10.128.0.0/14,127.0.0.1,172.30.0.0/16,api-int.c.test,localhost",
  );
  assert.deepEqual(warnings, [
    "is not checked: no file contains the ConfigMap openshift-config/ca; pass its certificates with --ca",
    machines,
  ]);
  const ca = `${home.directory}/ca.pem`;
  await Deno.writeTextFile(ca, testTls.ca);
  const named = await check('{ httpProxy: "http://proxy.test:3128", trustedCA: { name: ca } }', "--ca", ca);
  assert.deepEqual(named.warnings, [machines]);
  const unnamed = await check('{ httpProxy: "http://proxy.test:3128" }', "--ca", ca);
  assert.deepEqual(unnamed.warnings, [
    `names no ConfigMap: a cluster would not trust ${ca}`,
    machines,
  ]);
});

Deno.test("postern egress check of an empty spec needs no platform", async () => {
  await using home = await Household.open();
  const path = `${home.directory}/proxy.yaml`;
  const kinds = ["Proxy", "Network", "Infrastructure"];
  await Deno.writeTextFile(
    path,
    kinds.map((kind) => `kind: ${kind}\nmetadata: { name: cluster }\n`).join("---\n"),
  );
  const { code, stdout } = await home.run(["egress", "check", path, "-o", "json"]);
  assert.equal(code, 0, stdout);
  assert.deepEqual(JSON.parse(stdout).status, { httpProxy: "", httpsProxy: "", noProxy: "" });
});

Deno.test("postern egress no-proxy makes a list from options, and shows how clients apply it", async () => {
  await using home = await Household.open();
  const network = ["--service-network", "172.30.0.0/16", "--cluster-network", "10.128.0.0/14"];
  const made = await home.run([
    ...[
      "egress",
      "no-proxy",
      "--platform",
      "None",
      "--internal-api",
      "https://api-int.c.test:6443",
      ...network,
    ],
    ...["--no-proxy", "b.test, a.test", "--exclude", ".svc", "--exclude", "nowhere"],
  ]);
  assert.deepEqual(made, {
    code: 0,
    stdout: ".cluster.local,10.128.0.0/14,127.0.0.1,172.30.0.0/16,a.test,api-int.c.test,b.test,localhost\n",
    stderr: 'postern: warning: exclude names "nowhere", which is not an automatic entry\n',
  });
  const asked = await home.run([
    "egress",
    "no-proxy",
    "--list",
    ".svc",
    "--for-url",
    "http://svc/",
    "-o",
    "json",
  ]);
  assert.deepEqual(JSON.parse(asked.stdout).verdicts, [{
    url: "http://svc/",
    clients: {
      "go": "proxy",
      "curl 7.88": "direct",
      "curl 8": "direct",
      "deno": "direct",
      "urllib": "direct",
      "requests": "direct",
    },
  }]);
  const unsound = await home.run(["egress", "no-proxy", "--platform", "AWS", ...network]);
  assert.equal(unsound.code, 4);
  assert.match(unsound.stderr, /apiServerInternalURI of Infrastructure\/cluster is empty/);
  const both = await home.run(["egress", "no-proxy", "--list", "a", "--platform", "None"]);
  assert.equal(both.code, 2);
  const lower = await home.run([
    ...["egress", "no-proxy", "--platform", "aws", "--region", "us-west-2"],
    ...["--internal-api", "https://api-int.c.test:6443", ...network],
  ]);
  assert.deepEqual([lower.code, lower.stderr], [0, ""]);
  assert.match(lower.stdout, /\.us-west-2\.compute\.internal,.*,169\.254\.169\.254,/);
});

Deno.test("postern egress no-proxy reads all files of KUBECONFIG, as kubectl does", async () => {
  await using home = await Household.open();
  const [first, second] = [`${home.directory}/first`, `${home.directory}/second`];
  await Deno.writeTextFile(first, "users: []\n");
  await Deno.writeTextFile(
    second,
    JSON.stringify({
      "current-context": "lab",
      contexts: [{ name: "lab", context: { cluster: "lab", user: "me" } }],
      clusters: [{ name: "lab", cluster: { server: "https://127.0.0.1:1" } }],
      users: [{ name: "me", user: {} }],
    }),
    { mode: 0o600 },
  );
  const separator = Deno.build.os === "windows" ? ";" : ":";
  const env = { KUBECONFIG: [first, `${home.directory}/missing`, second].join(separator) };
  const { code, stderr } = await home.run(["egress", "no-proxy"], { env });
  assert.equal(code, 6, stderr);
  assert.match(stderr, /127\.0\.0\.1:1/);
});

const deployment = `apiVersion: apps/v1
kind: Deployment
metadata: { name: web, namespace: shop, annotations: { config.openshift.io/inject-proxy: foo } }
spec: { template: { spec: { containers: [{ name: foo, env: [{ name: HTTP_PROXY, value: "http://a:0ld@x" }] }] } } }
---
apiVersion: v1
kind: ConfigMap
metadata: { name: ca, namespace: shop, labels: { config.openshift.io/inject-trusted-cabundle: "true" } }
data: { other: kept }
`;
const sound = `apiVersion: config.openshift.io/v1
kind: Proxy
metadata: { name: cluster }
spec: { httpProxy: "http://me:hunter2@proxy.test:3128", noProxy: a.test }
`;

Deno.test("postern egress render shows the changes without passwords", async () => {
  await using home = await Household.open();
  const [objects, proxy] = [`${home.directory}/objects.yaml`, `${home.directory}/proxy.yaml`];
  await Deno.writeTextFile(objects, deployment);
  await Deno.writeTextFile(proxy, sound);
  const { code, stdout, stderr } = await home.run(["egress", "render", objects, "--proxy", proxy]);
  assert.equal(code, 0, stderr);
  const has = (line: string) => assert.ok(stdout.includes(`${line}\n`), `${line} in:\n${stdout}`);
  has("--- Deployment shop/web");
  has("-              value: http://a:***@x");
  has("+              value: http://me:***@proxy.test:3128");
  has("+            - name: NO_PROXY");
  has("--- ConfigMap shop/ca");
  has("   other: kept");
  assert.match(stdout, /^\+ {2}ca-bundle\.crt: \|$/m);
  assert.doesNotMatch(stdout + stderr, /hunter2|0ld/);
});

Deno.test("postern egress render warns about missing objects", async () => {
  await using home = await Household.open();
  const [objects, proxy] = [`${home.directory}/objects.yaml`, `${home.directory}/proxy.yaml`];
  await Deno.writeTextFile(objects, deployment);
  await Deno.writeTextFile(proxy, sound.replace("noProxy: a.test", "trustedCA: { name: ca }"));
  const { code, stderr } = await home.run(["egress", "render", objects, "--proxy", proxy]);
  assert.equal(code, 0, stderr);
  assert.deepEqual(stderr.trimEnd().split("\n"), [
    "postern: warning: NO_PROXY is incomplete: no file contains both Infrastructure/cluster and Network/cluster",
    "postern: warning: the bundle is incomplete: no file contains the ConfigMap openshift-config/ca; pass its certificates with --ca",
  ]);
  const everything = sound.replace("noProxy: a.test", 'noProxy: "*"');
  await Deno.writeTextFile(proxy, everything);
  assert.equal((await home.run(["egress", "render", objects, "--proxy", proxy])).stderr, "");
});

Deno.test("postern egress render reports an unknown container and exits 7", async () => {
  await using home = await Household.open();
  const [objects, proxy] = [`${home.directory}/objects.yaml`, `${home.directory}/proxy.yaml`];
  await Deno.writeTextFile(objects, deployment.replace("inject-proxy: foo", "inject-proxy: bar"));
  await Deno.writeTextFile(proxy, sound);
  const { code, stderr } = await home.run(["egress", "render", objects, "--proxy", proxy]);
  assert.equal(code, 7);
  assert.match(
    stderr,
    /Deployment shop\/web: config\.openshift\.io\/inject-proxy names "bar", but the pod has no such container/,
  );
});

Deno.test("postern egress render --install-config prints a password only with --with-credentials", async () => {
  await using home = await Household.open();
  const path = `${home.directory}/install-config.yaml`;
  await Deno.writeTextFile(
    path,
    `baseDomain: example.com\nmetadata: { name: c }\nproxy: { httpProxy: "http://me:hunter2@p.test" }\n`,
  );
  const render = ["egress", "render", "--install-config", path];
  const refused = await home.run(render);
  assert.equal(refused.code, 5);
  assert.doesNotMatch(refused.stdout + refused.stderr, /hunter2/);
  const { code, stdout } = await home.run([...render, "--with-credentials"]);
  assert.equal(code, 0);
  assert.equal(stdout.split("\n---\n").length, 2);
  assert.match(stdout, /status:\n {2}httpProxy: http:\/\/me:hunter2@p\.test\n/);
  const environment = await home.run([...render, "--with-credentials", "--part", "environment"]);
  assert.match(
    environment.stdout,
    /^HTTP_PROXY=http:\/\/me:hunter2@p\.test\nNO_PROXY=\.cluster\.local,.*\n$/,
  );
});

for (
  const { name, more, isWired } of [
    { name: "without a proxy", more: "", isWired: false },
    {
      name: "without a proxy, with policy Always",
      more: "additionalTrustBundlePolicy: Always\n",
      isWired: true,
    },
    { name: "with a proxy", more: 'proxy: { httpProxy: "http://proxy.test" }\n', isWired: true },
  ]
) {
  Deno.test(`postern egress render of an install-config ${isWired ? "merges" : "does not merge"} its bundle ${name}`, async () => {
    await using home = await Household.open();
    const [path, ca] = [`${home.directory}/install-config.yaml`, `${home.directory}/ca.pem`];
    await Deno.writeTextFile(path, `baseDomain: example.com\nmetadata: { name: c }\n${more}`);
    await Deno.writeTextFile(ca, testTls.ca);
    const render = ["egress", "render", "--install-config", path, "--ca", ca, "--system-trust", "omit"];
    const { code, stdout, stderr } = await home.run(render);
    assert.equal(code, 0, stderr);
    const [proxy = "", user = "", merged = ""] = stdout.split("\n---\n");
    assert.match(proxy, isWired ? /trustedCA:\n\s+name: user-ca-bundle/ : /trustedCA:\n\s+name: ""/);
    assert.match(user, /name: user-ca-bundle/);
    assert.match(merged, /name: trusted-ca-bundle/);
    assert.equal(merged.includes("BEGIN CERTIFICATE"), isWired);
  });
}

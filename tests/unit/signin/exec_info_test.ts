import assert from "node:assert/strict";
import { execCredential, readExecInfo } from "../../../src/signin/mod.ts";

const version = "client.authentication.k8s.io/v1";
const written = (spec: unknown, apiVersion = version) =>
  JSON.stringify({ apiVersion, kind: "ExecCredential", spec });

Deno.test("readExecInfo() reads the cluster from a client", () => {
  const cluster = {
    server: "https://api.example.net:6443",
    "certificate-authority-data": btoa("PEM"),
    "proxy-url": "socks5://127.0.0.1:12000",
    config: { any: "thing" },
  };
  assert.deepEqual(readExecInfo(written({ interactive: false, cluster })), {
    apiVersion: version,
    cluster: { server: cluster.server, ca: "PEM", proxyUrl: cluster["proxy-url"] },
  });
  assert.deepEqual(readExecInfo(written({}, `${version}beta1`)), { apiVersion: `${version}beta1` });
  assert.deepEqual(readExecInfo(undefined), { apiVersion: version });
});

const bad: readonly { name: string; text: string; message: RegExp }[] = [
  { name: "invalid JSON", text: "s3cret", message: /it is not an ExecCredential$/ },
  { name: "another kind", text: '{"kind":"Pod"}', message: /it is not an ExecCredential$/ },
  { name: "an old version", text: written({}, `${version}alpha1`), message: /neither v1 nor v1beta1$/ },
  { name: "no server", text: written({ cluster: {} }), message: /it has no server$/ },
  {
    name: "an invalid certificate",
    text: written({ cluster: { server: "https://a", "certificate-authority-data": "*" } }),
    message: /is not base64$/,
  },
  {
    name: "TLS without verification",
    text: written({ cluster: { server: "https://a", "insecure-skip-tls-verify": true } }),
    message: /the kubeconfig disables TLS verification$/,
  },
];
for (const { name, text, message } of bad) {
  Deno.test(`readExecInfo() refuses ${name}`, () => {
    assert.throws(() => readExecInfo(text), (error) => {
      assert.match((error as Error).message, message);
      assert.doesNotMatch(String(error), /s3cret/);
      return true;
    });
  });
}

Deno.test("execCredential() writes the time in the format of Kubernetes", () => {
  const expires = new Date("2026-01-02T03:04:05.678Z");
  assert.deepEqual(JSON.parse(execCredential(version, { token: "t", expires })), {
    apiVersion: version,
    kind: "ExecCredential",
    status: { token: "t", expirationTimestamp: "2026-01-02T03:04:05Z" },
  });
  assert.deepEqual(JSON.parse(execCredential(version, { token: "t" })).status, { token: "t" });
});
